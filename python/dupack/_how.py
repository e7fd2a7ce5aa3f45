"""Checks of the arguments of :meth:`dupack.Experiment.run`, before any run begins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

__all__ = ["folder", "jobs", "parts"]


def jobs(given: object) -> int | None:
    """Check the number of runs at a time.

    Raises:
        TypeError: if the number is not an integer.
        ValueError: if the number is less than one.
    """
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"jobs: expected a number of runs at a time, such as 2, found {given!r}")
    if given < 1:
        raise ValueError(f"jobs: expected a number of runs at a time, 1 or more, found {given}")
    return given


def folder(given: object, resume: bool) -> Path | None:
    """Check the output folder.

    Raises:
        TypeError: if ``given`` is not a path.
        ValueError: if an interrupted run is to be resumed, but no folder is given.
    """
    if given is None:
        if resume:
            raise ValueError("resume: name the folder of the interrupted run with out=")
        return None
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"out: expected the path of a folder, found {given!r}")
    return Path(os.fsdecode(cast("str | os.PathLike[str]", given)))


def parts(given: object) -> str | None:
    """Check the format of the files with runs.

    Raises:
        ValueError: if the format is unknown.
    """
    if given is None or given in ("csv", "parquet"):
        return given
    raise ValueError(f"parts: expected 'parquet' or 'csv', found {given!r}")
