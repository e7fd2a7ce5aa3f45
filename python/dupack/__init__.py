"""dupack: TCP loss recovery, from paper to packets.

Which sender should a path have, and what would it gain?

>>> import dupack
>>> results = dupack.compare(
...     ["sack/reno", "rack/cubic"], rate="10Mbit/s", loss="1%", seeds=2, duration="5s", progress=False
... )
>>> results.planned
4
"""

from __future__ import annotations

from . import errors
from ._native import engine
from .captures import Diagnosis, diagnose, script
from ._catalog import Catalog, catalog, deployment, stacks
from .errors import DupackError, ExperimentError, Interrupted, StackError
from .evaluation import Card, Reproduction, evaluate, papers, reproduce
from .experiment import Experiment, compare, run, schema
from .results import Results
from .table import Table
from ._trace import Trace, trace

__version__ = engine().split(" ")[0]

__all__ = [
    "Card",
    "Catalog",
    "Diagnosis",
    "DupackError",
    "Experiment",
    "ExperimentError",
    "Interrupted",
    "Reproduction",
    "Results",
    "StackError",
    "Table",
    "Trace",
    "__version__",
    "catalog",
    "compare",
    "deployment",
    "diagnose",
    "engine",
    "errors",
    "evaluate",
    "papers",
    "reproduce",
    "run",
    "schema",
    "script",
    "stacks",
    "trace",
]
