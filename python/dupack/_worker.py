"""Setup of the workers of an executor, and the function that they run."""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import threading
import time
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _native
from ._catalog import Catalog
from ._failures import Failure
from .errors import AlgorithmError, DupackError, WorkerError

__all__ = ["Setup", "work"]

# Maximum number of experiments that a worker caches. An executor rarely serves more experiments at a time.
_REMEMBERED = 4

# Contents of a setup: text of the experiment, name of the experiment, folder of its relative paths, `True` if harm is
# measured, and the algorithms in Python (name and pickle of each).
_Contents = tuple[str, str, str, bool, list[tuple[str, bytes]]]


@dataclass(frozen=True)
class Setup:
    """Data from which any process can create the plan."""

    text: str
    name: str
    folder: Path
    catalog: Catalog
    harm: bool

    def packed(self, plan: _native.Plan) -> tuple[str, bytes]:
        """Return the pickled setup, and a key under which workers cache their plan.

        ``plan`` is the plan of this process. It is cached for workers that are threads of this process.

        Raises:
            AlgorithmError: if an algorithm in Python that the experiment needs cannot be sent.
        """
        # The path is absolute, because workers start in their own folders.
        folder = os.path.abspath(self.folder)
        contents: _Contents = (self.text, self.name, folder, self.harm, self._algorithms())
        blob = zlib.compress(pickle.dumps(contents))
        key = hashlib.sha256(blob).hexdigest()
        # If the executor's workers are threads of this process, they reuse the plan.
        _remember(key, plan)
        return key, blob

    def _algorithms(self) -> list[tuple[str, bytes]]:
        sent: list[tuple[str, bytes]] = []
        for algorithm in self.catalog.registered:
            if not any(name in self.text for name in (algorithm.name, *algorithm.aliases)):
                continue  # No stack uses the algorithm, so workers need not be able to import it.
            try:
                sent.append((_called(algorithm), _pickled(algorithm)))
            except Exception as error:  # The contents of the class may raise any exception.
                raise _unsendable(algorithm, error) from error
        return sent


def _called(algorithm: type[Any]) -> str:
    return f"{algorithm.__module__}.{algorithm.__qualname__}"


def _pickled(algorithm: type[Any]) -> bytes:
    # A worker cannot import a class that is defined in a notebook or inside a function. Therefore the code of the
    # class is sent, which needs cloudpickle. The same is done for modules that are registered with cloudpickle.
    is_here_alone = algorithm.__module__ == "__main__" or "<locals>" in algorithm.__qualname__
    if not is_here_alone and algorithm.__module__ not in _sent_by_value():
        return pickle.dumps(algorithm)
    import cloudpickle  # pyright: ignore[reportMissingTypeStubs]

    sent: bytes = cloudpickle.dumps(algorithm)  # pyright: ignore[reportUnknownMemberType]
    return sent


def _sent_by_value() -> set[str]:
    known = sys.modules.get("cloudpickle")
    return set() if known is None else set(known.list_registry_pickle_by_value())


def _unsendable(algorithm: type[Any], error: Exception) -> AlgorithmError:
    help = "define the class in a module that the workers can import"
    if isinstance(error, ImportError):
        help += ", or install cloudpickle (pip install cloudpickle)"
    else:
        help += ", without objects that cannot be pickled (locks, files, generators)"
    return AlgorithmError(
        f"the class {_called(algorithm)} cannot be sent to workers: {type(error).__name__}: {error}",
        help=help,
    )


def work(engine: str, key: str, setup: bytes, order: bytes) -> tuple[bytes, float, list[Failure]]:
    """Perform the runs of ``order`` on a worker.

    Returns:
        The parcel with the runs, their duration in seconds, and the runs that failed in an algorithm in Python.

    Raises:
        WorkerError: if this build of dupack is not ``engine``, or if the experiment cannot be prepared here.
    """
    if _native.engine() != engine:
        raise WorkerError(
            f"the worker on {platform.node()} has dupack {_native.engine()}, expected {engine}",
            help="install the same build everywhere: the number after the version is the hash of its sources",
        )
    plan = _plan(key, setup)
    begin = time.perf_counter()
    parcel, by, failures = plan.perform(order)
    if by is not None and not isinstance(by, KeyboardInterrupt):
        raise by
    # After Ctrl-C, the parcel has fewer runs than the order. The ledger detects this.
    return parcel, time.perf_counter() - begin, failures


_plans: OrderedDict[str, _native.Plan] = OrderedDict()
_lock = threading.Lock()


def _plan(key: str, setup: bytes) -> _native.Plan:
    with _lock:
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = _made(setup)
            if len(_plans) > _REMEMBERED:
                _plans.popitem(last=False)
        return plan


def _remember(key: str, plan: _native.Plan) -> None:
    with _lock:
        _plans[key] = plan
        _plans.move_to_end(key)
        if len(_plans) > _REMEMBERED:
            _plans.popitem(last=False)


def _forget() -> None:
    """Reset the cache after a fork, because another thread of the parent process may have held the lock."""
    global _lock
    _plans.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _made(setup: bytes) -> _native.Plan:
    contents: _Contents = pickle.loads(zlib.decompress(setup))
    text, name, folder, harm, algorithms = contents
    catalog = Catalog()
    for called, pickled in algorithms:
        try:
            catalog.register(pickle.loads(pickled))
        except Exception as error:
            raise WorkerError(
                f"the worker on {platform.node()} cannot use the class {called}: {type(error).__name__}: {error}",
                help="install its module on all workers, or define the class in the notebook or program itself, "
                "which sends its code",
            ) from error
    native = catalog._native  # pyright: ignore[reportPrivateUsage]
    try:
        return _native.Plan(text, name, Path(folder), native, harm)
    except DupackError as error:
        raise WorkerError(
            f"the worker on {platform.node()} cannot prepare the experiment: {error.message}",
            help=f"the files that it names must be on all workers, in {folder}",
        ) from error
