"""What the tests share."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import dupack
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def small() -> dupack.Experiment:
    """A sweep of a few short runs."""
    return dupack.Experiment(
        title="A few short runs",
        stacks=["sack/reno", "le/westwood"],
        seeds=3,
        duration="5s",
        path={"rate": "5Mbit/s", "delay": "20ms", "buffer": "30pkt"},
        sweep={"path.loss": ["0%", "2%"]},
    )


def _same_folders(one: Path, other: Path) -> None:
    files = sorted(p.relative_to(one) for p in one.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(other) for p in other.rglob("*") if p.is_file())
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


@pytest.fixture(scope="session")
def same_folders() -> Callable[[Path, Path], None]:
    """Asserts that two folders have the same files, to the last byte."""
    return _same_folders


@pytest.fixture(scope="session")
def command() -> list[str]:
    """The command line, built from the same sources."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not here, so that there is no command line to compare with")
    build = [cargo, "build", "--quiet", "--profile", "edit", "-p", "dupack-cli", "--message-format=json"]
    import json

    made = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    for line in made.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "dupack":
            return [message["executable"]]
    raise AssertionError("cargo built no dupack")


@pytest.fixture(autouse=True)
def own_catalog() -> Iterator[None]:
    """What a test registers in the catalog that is used where none is named is gone after it."""
    yield
    dupack.catalog.__init__()  # type: ignore[misc]
