"""Results of experiments that have more runs than fit into memory."""

from __future__ import annotations

from pathlib import Path

from . import _native
from .errors import Interrupted

__all__ = ["Streamed"]


class Streamed:
    """A folder with the runs of an experiment that were written as they finished (``docs/streaming.md``).

    The runs are not in memory. Read the files with any tool for Parquet or CSV: ``polars.scan_parquet(streamed.runs)``,
    ``pandas.concat(map(pandas.read_parquet, streamed.runs))``, ``duckdb.read_parquet([str(f) for f in streamed.runs])``.

    Attributes:
        folder: path of the folder.
        warnings: warnings about the experiment.
    """

    __slots__ = ("_text", "folder", "warnings")

    def __init__(self, folder: Path, native: _native.Streamed) -> None:
        self.folder = folder
        self.warnings: list[str] = native.warnings
        self._text = native.text

    def _parts(self, table: str) -> list[Path]:
        return sorted((self.folder / table).glob("part-*"))

    @property
    def runs(self) -> list[Path]:
        """The files with a row per run.

        The files have the columns of :attr:`dupack.Results.runs`, including columns without any value.
        """
        return self._parts("runs")

    @property
    def flows(self) -> list[Path]:
        """The files with a row per run and flow. There are no such files if each run has only one flow."""
        return self._parts("flows")

    @property
    def summary(self) -> Path:
        """The file with a row per point and stack: means with intervals."""
        return self.folder / "summary.csv"

    @property
    def report(self) -> Path:
        """The report: the number of points at which each stack comes first, a map, and figures of some points."""
        return self.folder / "report.html"

    def __repr__(self) -> str:
        return f"<Streamed {str(self.folder)!r}: {len(self.runs)} file(s) of runs>"

    def __str__(self) -> str:
        return self._text or repr(self)


def ended(folder: Path, native: _native.Streamed | None, by: BaseException | None) -> Streamed:
    """Return the folder's contents if ``by`` is ``None``.

    Raises:
        BaseException: the exception ``by`` that ended the runs early.
    """
    if native is not None and by is None:
        return Streamed(folder, native)
    if by is None or isinstance(by, KeyboardInterrupt):
        raise Interrupted(None, f"the finished parts are in {folder}; continue with resume=True") from by
    raise by
