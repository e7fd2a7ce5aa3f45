"""Experiments of more runs than memory holds."""

from __future__ import annotations

from pathlib import Path

from . import _native
from .errors import Interrupted

__all__ = ["Streamed"]


class Streamed:
    """A folder to which the runs of an experiment went as they were done (``docs/streaming.md``).

    Nothing of them is in memory. What reads Parquet or CSV reads them: ``polars.scan_parquet(streamed.runs)``,
    ``pandas.concat(map(pandas.read_parquet, streamed.runs))``, ``duckdb.read_parquet([str(f) for f in streamed.runs])``.

    Attributes:
        folder: where it is.
        warnings: what there is to warn of.
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
        """The files that have a row per run, with the columns of :attr:`dupack.Results.runs`, and those that have
        nothing in them here."""
        return self._parts("runs")

    @property
    def flows(self) -> list[Path]:
        """The files that have a row per run and flow; none where each run has one flow."""
        return self._parts("flows")

    @property
    def summary(self) -> Path:
        """The file that has a row per point and stack: what their runs say together, with intervals."""
        return self.folder / "summary.csv"

    @property
    def report(self) -> Path:
        """The page: at how many points each stack comes first, a map of it, figures of some points."""
        return self.folder / "report.html"

    def __repr__(self) -> str:
        return f"<Streamed {str(self.folder)!r}: {len(self.runs)} file(s) of runs>"

    def __str__(self) -> str:
        return self._text or repr(self)


def ended(folder: Path, native: _native.Streamed | None, by: BaseException | None) -> Streamed:
    """What is in the folder, if nothing ended the runs before all were done.

    Raises:
        BaseException: what did.
    """
    if native is not None and by is None:
        return Streamed(folder, native)
    if by is None or isinstance(by, KeyboardInterrupt):
        raise Interrupted(None, f"the finished parts are in {folder}; resume=True goes on with them") from by
    raise by
