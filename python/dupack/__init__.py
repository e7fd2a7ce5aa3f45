"""dupack: TCP loss recovery, from paper to packets.

Compares TCP senders on a path, traces them packet by packet, and diagnoses captures.

>>> import dupack
>>> results = dupack.compare(
...     ["sack/reno", "rack/cubic"], rate="10Mbit/s", loss="1%", seeds=2, duration="5s", progress=False
... )
>>> results.planned
4
"""

from __future__ import annotations

from . import algorithms, errors
from ._failures import Failure
from ._native import engine
from .algorithms import (
    AckKind,
    Clearance,
    CongestionControl,
    Context,
    Differentiation,
    Exit,
    Expiry,
    Governance,
    Growth,
    LimitedBy,
    LossCause,
    LossEvent,
    LossFacts,
    LossRule,
    MarkAnswer,
    Next,
    Outcome,
    Pacing,
    Phase,
    Recovery,
    Reported,
    Response,
    Reversal,
    RtoShortening,
    RtoTimer,
    SendReason,
    TimeoutRule,
    Timing,
    UndoRules,
    Window,
    WindowPacing,
    parameter,
    seconds,
)
from .captures import Diagnosis, diagnose, script
from ._catalog import Catalog, catalog, deployment, register, stacks
from .errors import DupackError, ExperimentError, Interrupted, StackError
from .evaluation import Card, Reproduction, evaluate, papers, reproduce
from .experiment import Experiment, compare, run, schema
from .results import Results
from .streamed import Streamed
from .table import Table
from ._trace import Trace, trace

__version__ = engine().split(" ")[0]

__all__ = [
    "AckKind",
    "Card",
    "Catalog",
    "Clearance",
    "CongestionControl",
    "Context",
    "Diagnosis",
    "Differentiation",
    "DupackError",
    "Exit",
    "Experiment",
    "ExperimentError",
    "Expiry",
    "Failure",
    "Governance",
    "Growth",
    "Interrupted",
    "LimitedBy",
    "LossCause",
    "LossEvent",
    "LossFacts",
    "LossRule",
    "MarkAnswer",
    "Next",
    "Outcome",
    "Pacing",
    "Phase",
    "Recovery",
    "Reported",
    "Reproduction",
    "Response",
    "Results",
    "Reversal",
    "RtoShortening",
    "RtoTimer",
    "SendReason",
    "StackError",
    "Streamed",
    "Table",
    "TimeoutRule",
    "Timing",
    "Trace",
    "UndoRules",
    "Window",
    "WindowPacing",
    "__version__",
    "algorithms",
    "catalog",
    "compare",
    "deployment",
    "diagnose",
    "engine",
    "errors",
    "evaluate",
    "papers",
    "parameter",
    "register",
    "reproduce",
    "run",
    "schema",
    "script",
    "seconds",
    "stacks",
    "trace",
]
