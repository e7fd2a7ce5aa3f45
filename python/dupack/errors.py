"""What can go wrong. Every exception of dupack is a :class:`DupackError`, but for
:class:`Interrupted`, which is a ``KeyboardInterrupt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Results

__all__ = [
    "CaptureError",
    "DupackError",
    "EnvironmentError_",
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
        # Exceptions travel between processes: what they carry is in their attributes.
        return (_again, (type(self), self.args, self.__dict__))


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
    """A folder that cannot be written to, or gone on with."""


class WorkerError(DupackError, RuntimeError):
    """What a worker did cannot be used: another build of dupack, another experiment."""


class CaptureError(DupackError, ValueError):
    """A capture that cannot be read."""


class ScriptError(DupackError, ValueError):
    """A packetdrill script that cannot be read."""


class EnvironmentError_(DupackError, ValueError):
    """An environment that cannot be made, or a step that cannot be taken."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed.

    Attributes:
        results: what was finished by then. With ``out=`` it is in the folder, too, and
            ``resume=True`` goes on with it.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        done = results.planned - results.missing
        super().__init__(f"{done} of {results.planned} runs were finished; they are in .results")
