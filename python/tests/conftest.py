"""Fixtures of the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import dupack
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def small() -> dupack.Experiment:
    """Experiment with a sweep and a few short runs."""
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
    """Function that asserts that two folders have identical files."""
    return _same_folders


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("DUPACK_TEST_VOLUME") != "release":
        for item in items:
            if item.get_closest_marker("release"):
                item.add_marker(pytest.mark.skip(reason="runs only before a release: DUPACK_TEST_VOLUME=release"))


@pytest.fixture(scope="session")
def command(request: pytest.FixtureRequest) -> list[str]:
    """Path of the command line program, built from the same sources: ``DUPACK_COMMAND``, or a build by cargo."""
    if named := os.environ.get("DUPACK_COMMAND"):
        return [named]
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo, and so no command line to compare with")
    build = [cargo, "build", "-p", "dupack-cli", "--message-format=json-render-diagnostics"]
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        # The first build takes minutes. Cargo shows the progress.
        print("\nbuilding the command line to compare with:", " ".join(build[:4]), file=sys.stderr, flush=True)
        made = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in made.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "dupack":
            return [message["executable"]]
    raise AssertionError("cargo built no dupack")


@pytest.fixture(autouse=True)
def own_catalog() -> Iterator[None]:
    """Reset the default catalog after each test."""
    yield
    dupack.catalog.__init__()  # type: ignore[misc]
