"""Exceptions of dupack.

Every exception is a :class:`DupackError`, except :class:`Interrupted`, which is a ``KeyboardInterrupt``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._failures import Failure
    from .results import Results

__all__ = [
    "AlgorithmError",
    "CaptureError",
    "DupackError",
    "EnvError",
    "ExperimentError",
    "FolderError",
    "Interrupted",
    "ScriptError",
    "StackError",
    "WorkerError",
]


class DupackError(Exception):
    """Base class of dupack's exceptions.

    Attributes:
        message: description of the error, in one line.
        help: remedy, or ``None``.
    """

    def __init__(self, message: str, *, help: str | None = None) -> None:
        self.message = message
        self.help = help
        super().__init__(self._text())

    def _text(self) -> str:
        return self.message if not self.help else f"{self.message}\n  help: {self.help}"

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are pickled with their attributes, except for results.
        state = {name: value for name, value in self.__dict__.items() if name != "results"}
        return (_again, (type(self), self.args, state))


def _again(kind: type[DupackError], args: tuple[object, ...], state: dict[str, object]) -> DupackError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class ExperimentError(DupackError, ValueError):
    """Invalid experiment.

    Attributes:
        field: keys of the invalid value, joined by dots (``path.loss``), or ``None``.
        file: path or name of the experiment file, or ``None``.
        line: line number in the experiment's text, counted from 1, or ``None``.
        excerpt: text of that line, or ``None``.
    """

    def __init__(
        self,
        message: str,
        *,
        help: str | None = None,
        field: str | None = None,
        file: str | None = None,
        line: str | int | None = None,
        excerpt: str | None = None,
    ) -> None:
        self.field = field
        self.file = file
        self.line = None if line is None else int(line)
        self.excerpt = excerpt
        super().__init__(message, help=help)

    def _text(self) -> str:
        text = self.message if self.field is None else f"{self.field}: {self.message}"
        if self.excerpt is not None and self.line is not None:
            text += f"\n  line {self.line}: {self.excerpt.strip()}"
        return text if not self.help else f"{text}\n  help: {self.help}"


class StackError(DupackError, ValueError):
    """Invalid stack or unknown algorithm.

    Attributes:
        stack: the stack as it was written, or ``None``.
    """

    def __init__(self, message: str, *, help: str | None = None, stack: str | None = None) -> None:
        self.stack = stack
        super().__init__(message, help=help)


class FolderError(DupackError, OSError):
    """A folder that cannot be written to, or from which a run cannot be resumed.

    Attributes:
        results: the finished runs if they could not be written to the folder, otherwise ``None``.
    """

    results: Results | None = None


class WorkerError(DupackError, RuntimeError):
    """Failure of a worker: the worker process ended unexpectedly, or it runs a different build of dupack.

    Attributes:
        results: the runs that were finished by then, or ``None`` on the worker itself. With ``out=``, these runs are
            also in the folder, and ``resume=True`` continues from there.
    """

    results: Results | None = None


class AlgorithmError(DupackError, RuntimeError):
    """An algorithm in Python is invalid, returned an invalid value, or failed in every run.

    Attributes:
        failures: the failures of the algorithm, one per run, if it failed in every run.
    """

    def __init__(
        self, message: str, *, help: str | None = None, failures: Sequence[Failure] = ()
    ) -> None:
        self.failures = list(failures)
        super().__init__(message, help=help)


class CaptureError(DupackError, ValueError):
    """A capture that cannot be read."""


class ScriptError(DupackError, ValueError):
    """A packetdrill script that cannot be read."""


class EnvError(DupackError, ValueError):
    """Invalid setting of an environment, or invalid step."""


class Interrupted(KeyboardInterrupt):
    """Interruption by Ctrl-C.

    Attributes:
        results: the runs that were finished by then; ``None`` for a stream, whose runs are only in its folder.
            With ``out=``, the runs are also in the folder, and ``resume=True`` continues from there.
    """

    def __init__(self, results: Results | None, message: str | None = None) -> None:
        self.results = results
        if results is not None and message is None:
            done = results.planned - results.missing
            message = f"{done} of {results.planned} runs were finished; they are in `results`"
        super().__init__(message or "")


def going_on(error: WorkerError, out: str | None) -> WorkerError:
    """Add instructions for resuming to the help of ``error``, and return the error."""
    if out is None:
        more = "finished runs are in `results`; to be able to resume, keep them in a folder with out="
    else:
        more = f"finished runs are kept: continue with out={out!r}, resume=True"
    error.help = more if error.help is None else f"{error.help}; {more}"
    error.args = (error._text(),)  # pyright: ignore[reportPrivateUsage]
    return error
