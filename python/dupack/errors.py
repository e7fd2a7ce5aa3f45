"""What can go wrong. Every exception of dupack is a :class:`DupackError`, but for
:class:`Interrupted`, which is a ``KeyboardInterrupt``."""

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
    """Something is wrong, and ``help`` says what to do.

    Attributes:
        message: what is wrong, in one line.
        help: what to do, or ``None``.
    """

    def __init__(self, message: str, *, help: str | None = None) -> None:
        self.message = message
        self.help = help
        super().__init__(self._text())

    def _text(self) -> str:
        return self.message if not self.help else f"{self.message}\n  help: {self.help}"

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions travel between processes: what they carry is in their attributes, but for results.
        state = {name: value for name, value in self.__dict__.items() if name != "results"}
        return (_again, (type(self), self.args, state))


def _again(kind: type[DupackError], args: tuple[object, ...], state: dict[str, object]) -> DupackError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class ExperimentError(DupackError, ValueError):
    """An experiment that cannot be run.

    Attributes:
        field: the keys of the value that is wrong, joined by dots (``path.loss``), or ``None``.
        file: what the experiment is called.
        line: the line of its text, from 1 on, or ``None``.
        excerpt: that line.
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
    """A stack or an algorithm that there is not.

    Attributes:
        stack: as it was written, or ``None``.
    """

    def __init__(self, message: str, *, help: str | None = None, stack: str | None = None) -> None:
        self.stack = stack
        super().__init__(message, help=help)


class FolderError(DupackError, OSError):
    """A folder that cannot be written to, or gone on with.

    Attributes:
        results: what was finished, if the folder could not take it; or ``None``.
    """

    results: Results | None = None


class WorkerError(DupackError, RuntimeError):
    """A worker of an executor cannot do its part: it died, or is another build of dupack.

    Attributes:
        results: what was finished by then, or ``None`` on the worker itself. With ``out=`` it is in the
            folder, too, and ``resume=True`` goes on with it.
    """

    results: Results | None = None


class AlgorithmError(DupackError, RuntimeError):
    """An algorithm in Python that is not well-formed, that answers what makes no sense, or that failed in
    every run.

    Attributes:
        failures: the runs that it has ended, if that is what happened.
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
    """An environment that cannot be made, or a step that cannot be taken."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed.

    Attributes:
        results: what was finished by then; ``None`` of what is streamed, which is in its folder alone. With
            ``out=`` it is in the folder, too, and ``resume=True`` goes on with it.
    """

    def __init__(self, results: Results | None, message: str | None = None) -> None:
        self.results = results
        if results is not None and message is None:
            done = results.planned - results.missing
            message = f"{done} of {results.planned} runs were finished; they are in .results"
        super().__init__(message or "")


def going_on(error: WorkerError, out: str | None) -> WorkerError:
    """``error``, which also says how to go on with what is finished."""
    if out is None:
        more = "what is finished is in .results; with out= it is kept, so that resume=True can go on with it"
    else:
        more = f"what is finished is kept: run it again with out={out!r}, resume=True"
    error.help = more if error.help is None else f"{error.help}; {more}"
    error.args = (error._text(),)  # pyright: ignore[reportPrivateUsage]
    return error
