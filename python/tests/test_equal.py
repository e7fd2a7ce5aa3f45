"""Tests that the package and the command line produce identical numbers."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import dupack
import pytest
from conftest import ROOT


def run(command: list[str], *words: str | Path, code: int = 0) -> str:
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout


def same_folders(one: Path, other: Path) -> None:
    files = sorted(p.relative_to(one) for p in one.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(other) for p in other.rglob("*") if p.is_file())
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


def test_run_writes_the_same_folder(small: dupack.Experiment, command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small.toml)
    run(command, "run", file, "--out", tmp_path / "cli")
    results = dupack.run(file, out=tmp_path / "python", progress=False)
    same_folders(tmp_path / "cli", tmp_path / "python")
    # The results can also be written later.
    results.write(tmp_path / "later")
    same_folders(tmp_path / "cli", tmp_path / "later")


def test_tables_have_the_numbers_of_the_files(small: dupack.Experiment) -> None:
    results = small.run(progress=False)
    runs, _ = results._native.csv()
    lines = list(csv.DictReader(io.StringIO(runs.decode())))
    table = results.runs.rows()
    assert len(lines) == len(table) == 12
    for line, row in zip(lines, table):
        assert int(line["seed"]) == row["seed"]
        assert line["stack"] == row["stack"]
        goodput = next(line[key] for key in line if key.startswith("goodput"))
        assert float(goodput) == row["goodput_mbit_s"]


def test_compare_has_the_defaults_of_the_command(command: list[str], tmp_path: Path) -> None:
    flags = ["--seeds", "1", "--duration", "2s", "--no-harm"]
    run(command, "compare", *flags, "--out", tmp_path / "cli")
    ours = dupack.compare(seeds=1, duration="2s", harm=False, progress=False, out=tmp_path / "python")
    theirs = dupack.Experiment.read(tmp_path / "cli" / "experiment.toml")
    mine = dupack.Experiment.read(tmp_path / "python" / "experiment.toml")
    assert mine.runs == theirs.runs == ours.planned
    for name in ("runs.csv", "summary.csv"):
        assert (tmp_path / "cli" / name).read_bytes() == (tmp_path / "python" / name).read_bytes()


@pytest.mark.parametrize(
    ("flags", "keywords"),
    [
        (
            ["--loss", "1%", "--rate", "2Mbit/s", "--delay", "5ms", "--buffer", "9pkt", "--flows", "2"],
            {"loss": "1%", "rate": "2Mbit/s", "delay": "5ms", "buffer": "9pkt", "flows": 2},
        ),
        (
            ["--ack-loss", "3%", "--delayed-ack", "40ms", "--segment", "1000B", "--dialect", "ns2"],
            {"ack_loss": "3%", "delayed_ack": "40ms", "segment": "1000B", "dialect": "ns2"},
        ),
        (["--precision", "20%", "--seeds-max", "5"], {"precision": "20%", "seeds_max": 5}),
    ],
)
def test_compare_means_what_the_flags_mean(
    flags: list[str], keywords: dict[str, object], command: list[str], tmp_path: Path
) -> None:
    common = ["--stacks", "sack/reno,rack/cubic", "--seeds", "2", "--duration", "2s", "--no-harm"]
    run(command, "compare", *common, *flags, "--out", tmp_path / "cli")
    dupack.compare(
        ["sack/reno", "rack/cubic"],
        seeds=2,
        duration="2s",
        harm=False,
        progress=False,
        out=tmp_path / "python",
        **keywords,
    )
    for name in ("runs.csv", "summary.csv"):
        assert (tmp_path / "cli" / name).read_bytes() == (tmp_path / "python" / name).read_bytes()


def test_trace_has_the_packets_of_the_command(command: list[str], tmp_path: Path) -> None:
    run(command, "trace", "momentary/reno", "--drop", "24-30", "--out", tmp_path / "cli")
    ours = dupack.trace("momentary/reno", drop="24-30")
    lines = list(csv.DictReader((tmp_path / "cli" / "packets.csv").open()))
    rows = ours.packets.rows()
    assert len(lines) == len(rows) > 100
    for line, row in zip(lines, rows):
        assert float(line["time_s"]) == row["time_s"]
        assert line["event"] == row["event"]
    windows = list(csv.DictReader((tmp_path / "cli" / "windows.csv").open()))
    assert [float(line["cwnd_bytes"]) for line in windows] == list(ours.windows["cwnd_bytes"])


def test_stacks_and_schema_equal_those_of_the_command(command: list[str]) -> None:
    listed = json.loads(run(command, "stacks", "--json"))
    listed = listed if isinstance(listed, list) else listed["algorithms"]
    assert dupack.stacks() == listed
    assert dupack.schema() == json.loads(run(command, "schema"))
    assert dupack.deployment("rack/cubic") == json.loads(run(command, "stacks", "rack/cubic", "--json"))


def test_evaluate_gives_the_card_of_the_command(command: list[str], tmp_path: Path) -> None:
    words = ["sack/reno", "--quick", "--only", "bufferbloat", "--format", "json", "--out", tmp_path / "cli"]
    card = json.loads(run(command, "evaluate", *words))
    (ours,) = dupack.evaluate("sack/reno", quick=True, only=["bufferbloat"], progress=False)
    assert ours.fields == card


def test_papers_give_the_verdicts_of_the_command(command: list[str], tmp_path: Path) -> None:
    run(command, "papers", "newreno-smooth", "--quick", "--out", tmp_path / "cli")
    lines = csv.DictReader((tmp_path / "cli" / "newreno-smooth" / "verdicts.csv").open())
    theirs = {line["id"]: line["verdict"] for line in lines}
    ours = dupack.reproduce("newreno-smooth", quick=True, progress=False)
    assert ours.verdicts == theirs


def test_diagnose_finds_what_the_command_finds(command: list[str], tmp_path: Path) -> None:
    run(command, "trace", "sack/reno", "--loss", "2%", "--duration", "20s", "--out", tmp_path / "cli")
    capture = next((tmp_path / "cli").rglob("*.pcapng"))
    theirs = json.loads(run(command, "diagnose", capture, "--format", "json"))
    assert dupack.diagnose(capture, progress=False).fields == theirs


def test_a_capture_is_not_joined_with_itself(command: list[str], tmp_path: Path) -> None:
    run(command, "trace", "sack/reno", "--duration", "2s", "--out", tmp_path / "cli")
    file = next((tmp_path / "cli").rglob("*.pcapng"))
    with pytest.raises(dupack.errors.CaptureError, match="they are one capture"):
        dupack.diagnose(file, both=file, what_if=False, progress=False)


def test_diagnose_selects_what_the_command_selects(command: list[str], tmp_path: Path) -> None:
    run(command, "trace", "sack/reno", "--loss", "2%", "--duration", "20s", "--out", tmp_path / "cli")
    capture = next((tmp_path / "cli").rglob("*.pcapng"))
    selected = ["--filter", "tcp and ip", "--since", "2.5", "--until", "9s", "--no-what-if"]
    theirs = json.loads(run(command, "diagnose", capture, "--format", "json", *selected))
    assert theirs["left_out_packets"]["since_until"] > 0
    ours = dupack.diagnose(capture, filter="tcp and ip", since=2.5, until="9s", what_if=False, progress=False)
    assert ours.fields == theirs


def test_script_plays_as_the_command_does(command: list[str]) -> None:
    folder = ROOT / "crates" / "script" / "conformance"
    theirs = json.loads(run(command, "script", folder, "--format", "json"))
    theirs = theirs["scripts"] if isinstance(theirs, dict) else theirs
    assert dupack.script(folder).scripts == theirs
