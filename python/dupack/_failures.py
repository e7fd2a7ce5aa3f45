"""Runs that failed because of an exception in an algorithm in Python."""

from __future__ import annotations

import pickle
import traceback as _traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import AlgorithmError

__all__ = ["Failure"]

Purpose = Literal["comparison", "harm", "show"]

# Maximum number of failures in a note. ``Results.failures`` has all failures.
_TOLD = 3


@dataclass(frozen=True)
class Failure:
    """A run that failed because of an exception in an algorithm in Python. Other runs are not affected.

    Attributes:
        point: the index of the point of the sweep, counted from 0.
        label: description of the point; empty if there is only one point.
        stack: the stack, in its canonical spelling.
        seed: the seed.
        time: simulated time of the failure, in seconds.
        place: the class and its method, such as ``Half.on_ack``.
        error: the exception, with its traceback for a debugger.
        traceback: the traceback, as Python prints it.
        purpose: purpose of the run: ``comparison``, ``harm`` (to measure the harm to a standing flow), or ``show``
            (for example for a trace).
    """

    point: int
    label: str
    stack: str
    seed: int
    time: float
    place: str
    error: BaseException
    traceback: str
    purpose: Purpose = "comparison"

    @classmethod
    def of(
        cls,
        run: tuple[int, str, str, int, Purpose],
        where: tuple[str, float],
        error: BaseException,
    ) -> Failure:
        """Create the failure of a run. ``where`` is the method that raised ``error``, and the simulated time."""
        point, label, stack, seed, purpose = run
        place, time = where
        text = "".join(_traceback.format_exception(type(error), error, error.__traceback__))
        return cls(point, label, stack, seed, time, place, error, text, purpose)

    def __str__(self) -> str:
        run = ", ".join(part for part in (self.label, self.stack, f"seed {self.seed}") if part)
        what = f"{type(self.error).__name__}: {self.error}"
        return f"{run}: at {self.time:.6g} s, in {self.place}: {what}"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        try:
            pickle.loads(pickle.dumps(self.error))
        except Exception:
            # Replace an exception that cannot be pickled.
            state["error"] = AlgorithmError(f"{type(self.error).__name__}: {self.error}")
        return state


def told(failures: Sequence[Failure]) -> str:
    """Return a note on the failures for readers of the results."""
    runs = "a run is" if len(failures) == 1 else f"{len(failures)} runs are"
    some = "; ".join(str(failure) for failure in failures[:_TOLD])
    more = f"; and {len(failures) - _TOLD} more" if len(failures) > _TOLD else ""
    return f"{runs} missing because an algorithm failed ({some}{more})."


def warn(failures: Sequence[Failure]) -> None:
    """Issue a warning about the failures."""
    warnings.warn(told(failures), stacklevel=2)


def all_failed(failures: Sequence[Failure]) -> AlgorithmError:
    """Create the exception for an experiment without results.

    The exception describes the first failure and contains all failures.
    """
    first = failures[0]
    error = AlgorithmError(
        f"every run failed: {first}",
        help="the exception's failures have every run with its traceback",
        failures=failures,
    )
    error.__cause__ = first.error
    return error
