"""Tests that every public object can be shown at the end of a notebook's cell."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path

import dupack
import pytest
from conftest import ROOT
from dupack.captures import Played

Make = Callable[[dupack.Experiment, Path], object]

# TCP flags: SYN; ACK and PSH; SYN and ACK.
SYN, DATA, BOTH = 0x02, 0x18, 0x12


def capture(folder: Path) -> Path:
    """Return a capture of a connection with three segments, as raw IP packets."""

    def packet(at_ms: int, out: bool, seq: int, ack: int, flags: int, length: int) -> bytes:
        ends = (b"\x0a\0\0\1", b"\x0a\0\0\2") if out else (b"\x0a\0\0\2", b"\x0a\0\0\1")
        ports = (4000, 80) if out else (80, 4000)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + length, 0, 0, 64, 6, 0) + b"".join(ends)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0)
        whole = ip + tcp + bytes(length)
        return struct.pack("<IIII", at_ms // 1000, at_ms % 1000 * 1000, len(whole), len(whole)) + whole

    packets = [packet(0, True, 0, 0, SYN, 0), packet(20, False, 0, 1, BOTH, 0)]
    for number in range(3):
        packets.append(packet(21 + 20 * number, True, 1 + 1000 * number, 1, DATA, 1000))
        packets.append(packet(40 + 20 * number, False, 1, 1001 + 1000 * number, 0x10, 0))
    path = folder / "three.pcap"
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(packets))
    return path


def results(small: dupack.Experiment, _: Path) -> dupack.Results:
    return small.run(harm=False, progress=False)


def script(_: dupack.Experiment, __: Path) -> Played:
    return dupack.script(ROOT / "crates" / "script" / "conformance" / "rfc1122")


# An object of each public class that has a display.
MADE: dict[str, Make] = {
    "Card": lambda _, __: dupack.evaluate("rack/cubic", only=["full-backoff"], quick=True, progress=False)[0],
    "Catalog": lambda _, __: dupack.catalog,
    "Diagnosis": lambda _, folder: dupack.diagnose(capture(folder), what_if=False, progress=False),
    "Experiment": lambda small, _: small,
    "Played": script,
    "Reproduction": lambda _, __: dupack.Reproduction("le", [{"claim": "first", "standing": "paper", "verdict": "holds"}], {}),
    "Results": results,
    "Streamed": lambda small, folder: small.stream(folder / "streamed", progress=False),
    "Table": lambda small, folder: results(small, folder).summary,
    "Trace": lambda _, __: dupack.trace("newreno/reno", drop="24-30"),
}


def texts(of: object) -> list[str]:
    """Return the texts that a console and a notebook show for an object."""
    made = [repr(of), str(of)]
    show = getattr(of, "_repr_html_", None)
    return made if show is None else [*made, show()]


@pytest.mark.parametrize("name", MADE)
def test_every_object_has_texts(name: str, small: dupack.Experiment, tmp_path: Path) -> None:
    made = MADE[name](small, tmp_path)
    assert type(made).__name__ == name
    assert all(texts(made)), name


def test_every_class_with_a_notebook_display_is_covered() -> None:
    public = [getattr(dupack, name) for name in dupack.__all__]
    shown = {made.__name__ for made in public if isinstance(made, type) and hasattr(made, "_repr_html_")}
    assert shown and shown <= set(MADE), shown - set(MADE)


def list_of(value: object) -> object:
    """Convert the arrays in a value to lists, as in the rows of a table."""
    if isinstance(value, list | tuple) or hasattr(value, "tolist") and getattr(value, "ndim", 0):
        return [list_of(one) for one in value]  # type: ignore[attr-defined]
    return value


def tables(of: object) -> list[str]:
    """Return the names of an object's properties that are tables."""
    names = [name for name in dir(type(of)) if isinstance(getattr(type(of), name), property)]
    return [name for name in names if isinstance(getattr(of, name), dupack.Table)]


@pytest.mark.parametrize("name", ["Results", "Trace"])
def test_every_column_of_every_table_has_values(name: str, small: dupack.Experiment, tmp_path: Path) -> None:
    made = MADE[name](small, tmp_path)
    assert len(tables(made)) >= 2
    for place in tables(made):
        table: dupack.Table = getattr(made, place)
        rows = table.rows()
        assert len(rows) == len(table)
        assert table._repr_html_().startswith("<table>")
        for column in table.columns:
            values = table[column]
            assert len(values) == len(table), (place, column)
            for row, value in zip(rows, values, strict=True):
                told = row[column]
                missing = told is None or (isinstance(told, float) and math.isnan(told))
                assert missing or list_of(value) == list_of(told), (place, column)


def test_a_trace_has_the_inflation_in_bytes(small: dupack.Experiment, tmp_path: Path) -> None:
    windows = dupack.trace("reno/reno", drop="24").windows
    assert windows["inflation_bytes"].dtype == "int64"
    assert max(windows["inflation_bytes"]) > 0
