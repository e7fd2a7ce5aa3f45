"""What :meth:`dupack.Experiment.run` is told, checked before anything is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

__all__ = ["folder", "jobs", "parts"]


def jobs(given: object) -> int | None:
    """A number of runs at a time, or none.

    Raises:
        TypeError: if it is no whole number.
        ValueError: if it is less than one.
    """
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"jobs: expected a number of runs at a time, such as 2, and found {given!r}")
    if given < 1:
        raise ValueError(f"jobs: expected a number of runs at a time, 1 or more, and found {given}")
    return given


def folder(given: object, resume: bool) -> Path | None:
    """The folder for what comes out, or none.

    Raises:
        TypeError: if it is no path.
        ValueError: if there is none, and there is something to go on with.
    """
    if given is None:
        if resume:
            raise ValueError("resume: say with out= in which folder the runs are")
        return None
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"out: expected the path of a folder, and found {given!r}")
    return Path(os.fsdecode(cast("str | os.PathLike[str]", given)))


def parts(given: object) -> str | None:
    """In what files runs are kept, or none.

    Raises:
        ValueError: if there are no such files.
    """
    if given is None or given in ("csv", "parquet"):
        return given
    raise ValueError(f"parts: expected 'parquet' or 'csv', and found {given!r}")
