"""Diagnosis of captures, and packetdrill scripts."""

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
    """Limits of the transfers in a capture, and causes of their retransmissions.

    Attributes:
        fields: all findings, as ``dupack diagnose --format json`` prints them (``docs/diagnose.md``).
        streams: a mapping for each stream of data, as ``--format csv`` prints it, with numbers as text.
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
    """Diagnose a capture, as ``dupack diagnose`` does.

    Args:
        path: a pcap or pcapng file, uncompressed or compressed by gzip.
        flow: analyse only this connection: its number, or one of its ends (``"10.0.0.1:443"``).
        filter: analyse only packets that match this filter, in the syntax of tcpdump
            (``"host 10.0.0.1 and port 443"``). Both directions of a connection match, or neither.
        since: analyse only packets from this time on: seconds or a duration after the first TCP
            packet (``30``, ``"1.5s"``), a time of day in UTC (``"12:30:05"``) or a date and time
            (``"2026-11-28T12:30:05Z"``).
        until: analyse only packets before this time.
        both: a second capture of the same transfer, taken at the other end. For connections in both captures, the
            findings have ``both_ends``: the offset of the clocks, and lost and late packets in each direction. The
            other findings are those of the capture nearer to the sender.
        what_if: also predict the completion times of other senders for the worst connection.
        stacks: stacks of these senders; by default all stacks in Linux.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.
        progress: as in :meth:`dupack.Experiment.run`.

    Raises:
        CaptureError: if the capture cannot be read, has no TCP packets, or has no connection that matches ``flow``; if
            no connection is in both captures; if ``filter``, ``since`` or ``until`` cannot be parsed, or select no
            packet.
        StackError: if a stack does not exist.
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
    """Remove the apostrophe that prevents a spreadsheet from evaluating the cell of a CSV file."""
    is_kept = cell.startswith("'") and cell.lstrip("'").startswith(("=", "+", "-", "@", "\t", "\r"))
    return cell[1:] if is_kept else cell


@dataclass(frozen=True)
class Played:
    """Outcomes of packetdrill scripts.

    Attributes:
        scripts: a mapping for each script, as ``dupack script --format json`` prints it.
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
    """Run packetdrill scripts against the endpoint, as ``dupack script`` does.

    Args:
        paths: files, and folders that are searched for files whose names end in ``.pkt``.
        stack: recovery and congestion control; by default RACK-TLP with the congestion control of the script.
        dialect: rules that the endpoint follows: ``rfc``, ``linux``, ``ns2``.
        tolerance: maximum deviation of an event from its time, in seconds.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.

    Raises:
        ScriptError: if no script is found.
        StackError: if the stack does not exist.
    """
    if not paths:
        raise ScriptError("no script is given", help="name files, or folders that have files ending in .pkt")
    for path in paths:
        if not Path(path).exists():
            raise ScriptError(f"{path}: no such file or folder", help="name files, or folders that have files ending in .pkt")
    native = (_the_catalog if catalog is None else catalog)._native
    text = _native.script([Path(path) for path in paths], native, stack, dialect, tolerance)
    read: Any = json.loads(text)
    scripts: list[dict[str, Any]] = read["scripts"] if isinstance(read, dict) else read
    return Played(scripts)
