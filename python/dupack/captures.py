"""Captures of anybody's traffic, and packetdrill scripts."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _native
from ._html import rows_table
from ._progress import Bar
from ._catalog import Catalog, catalog as _the_catalog
from .errors import ScriptError

__all__ = ["Diagnosis", "Played", "diagnose", "script"]


@dataclass(frozen=True)
class Diagnosis:
    """What limited the transfers of a capture, and why segments were sent again.

    Attributes:
        fields: everything, as ``dupack diagnose --format json`` prints it (``docs/diagnose.md``).
        streams: a mapping per stream of data, as ``--format csv`` prints it: numbers as text.
    """

    fields: dict[str, Any]
    streams: list[dict[str, str]]

    def __repr__(self) -> str:
        return f"<Diagnosis: {len(self.streams)} stream(s) of data>"

    def _repr_html_(self) -> str:
        heads = tuple(self.streams[0]) if self.streams else ()
        return rows_table(heads, self.streams)


def diagnose(
    path: str | os.PathLike[str],
    *,
    flow: int | str | None = None,
    filter: str | None = None,
    since: float | str | None = None,
    until: float | str | None = None,
    both: str | os.PathLike[str] | None = None,
    what_if: bool = True,
    stacks: Sequence[str] | None = None,
    catalog: Catalog | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Diagnosis:
    """Reads a capture, as ``dupack diagnose`` does.

    Args:
        path: a pcap or pcapng file, also if gzip has packed it.
        flow: only this connection: its number, or an end of it (``"10.0.0.1:443"``).
        filter: analyse only packets that this filter passes, in the syntax of tcpdump
            (``"host 10.0.0.1 and port 443"``). Both directions of a connection pass, or none.
        since: analyse only packets from this time on: seconds or a duration after the first TCP
            packet (``30``, ``"1.5s"``), a time of day in UTC (``"12:30:05"``) or a date and time
            (``"2026-11-28T12:30:05Z"``).
        until: analyse only packets before this time.
        both: a second capture of the same transfer, taken at the other end. Connections that both
            captures have get a ``both_ends``: the offset of the clocks, and what was lost or late
            in each direction. The findings are those of the capture that is nearer to the sender.
        what_if: also ask what other senders would have taken for the worst connection.
        stacks: which; all that Linux has if nothing is said.
        catalog: the algorithms.
        progress: as in :meth:`dupack.Experiment.run`.

    Raises:
        CaptureError: if it cannot be read, has no TCP or no such connection, if it shares no
            connection with ``both``, if ``filter``,
            ``since`` or ``until`` cannot be parsed, or if they select nothing.
        StackError: if there is no such stack.
    """
    native = (_the_catalog if catalog is None else catalog)._native
    named = None if stacks is None else list(stacks)
    with Bar(progress, os.fspath(path)) as bar:
        asked = {"flow": flow, "filter": filter, "since": since, "until": until}
        selected = {name: None if value is None else str(value) for name, value in asked.items()}
        text, lines = _native.diagnose(
            Path(path), native, selected, what_if, named, bar, None if both is None else Path(both)
        )
    rows = csv.DictReader(io.StringIO(lines))
    streams = [{key: _from_sheet(cell) for key, cell in row.items()} for row in rows]
    return Diagnosis(json.loads(text), streams)


def _from_sheet(cell: str) -> str:
    """A cell of a CSV file without the apostrophe that keeps spreadsheets from running it."""
    is_kept = cell.startswith("'") and cell.lstrip("'").startswith(("=", "+", "-", "@", "\t", "\r"))
    return cell[1:] if is_kept else cell


@dataclass(frozen=True)
class Played:
    """How packetdrill scripts went.

    Attributes:
        scripts: a mapping per script, as ``dupack script --format json`` prints them.
    """

    scripts: list[dict[str, Any]]

    def _repr_html_(self) -> str:
        heads = tuple(self.scripts[0]) if self.scripts else ()
        return rows_table(heads, self.scripts)


def script(
    *paths: str | os.PathLike[str],
    stack: str | None = None,
    dialect: str = "linux",
    tolerance: float = 0.004,
    catalog: Catalog | None = None,
) -> Played:
    """Plays packetdrill scripts against the endpoint, as ``dupack script`` does.

    Args:
        paths: files, and folders that are searched for files that end in ``.pkt``.
        stack: recovery and congestion control; RACK-TLP with what the script asks for if nothing is
            said.
        dialect: whose rules the endpoint follows: ``rfc``, ``linux``, ``ns2``.
        tolerance: how far from its time something may happen, in s.
        catalog: the algorithms.

    Raises:
        ScriptError: if there is no script.
        StackError: if there is no such stack.
    """
    if not paths:
        raise ScriptError("there is no script", help="name files, or folders with files that end in .pkt")
    for path in paths:
        if not Path(path).exists():
            raise ScriptError(f"{path}: there is no such file or folder", help="name files, or folders with files that end in .pkt")
    native = (_the_catalog if catalog is None else catalog)._native
    text = _native.script([Path(path) for path in paths], native, stack, dialect, tolerance)
    read: Any = json.loads(text)
    scripts: list[dict[str, Any]] = read["scripts"] if isinstance(read, dict) else read
    return Played(scripts)
