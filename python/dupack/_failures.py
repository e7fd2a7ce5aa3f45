"""Runs that an algorithm in Python has ended by an exception."""

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

# So many are told apart in a sentence; ``Results.failures`` has all.
_TOLD = 3


@dataclass(frozen=True)
class Failure:
    """A run that an algorithm in Python has ended by an exception. No other run is touched by it.

    Attributes:
        point: the point of the sweep, from 0.
        label: the same in words; empty if there is one point.
        stack: the stack, in its canonical spelling.
        seed: the seed.
        time: when it happened, in simulated seconds.
        place: the class and its method, such as ``Half.on_ack``.
        error: the exception, with its traceback for a debugger.
        traceback: the same as Python prints it.
        purpose: what the run was done for: ``comparison``; ``harm``, which a standing flow bears; or
            ``show``, such as a trace.
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
        """That of a run, where ``error`` was raised in the method and at the simulated time of ``where``."""
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
            # An exception that cannot travel is told by one that can.
            state["error"] = AlgorithmError(f"{type(self.error).__name__}: {self.error}")
        return state


def told(failures: Sequence[Failure]) -> str:
    """What a reader of the results must know of it."""
    runs = "a run is" if len(failures) == 1 else f"{len(failures)} runs are"
    some = "; ".join(str(failure) for failure in failures[:_TOLD])
    more = f"; and {len(failures) - _TOLD} more" if len(failures) > _TOLD else ""
    return f"{runs} missing, as an algorithm failed in it ({some}{more})."


def warn(failures: Sequence[Failure]) -> None:
    """Warns of it."""
    warnings.warn(told(failures), stacklevel=2)


def all_failed(failures: Sequence[Failure]) -> AlgorithmError:
    """The exception where nothing came out: it tells of the first, and has all."""
    first = failures[0]
    error = AlgorithmError(
        f"no run came to its end: {first}",
        help="failures of this exception has every run with its traceback",
        failures=failures,
    )
    error.__cause__ = first.error
    return error
