"""Tests that the notebooks run without errors, in a short mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT

BOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_all_notebooks_are_found() -> None:
    assert len(BOOKS) >= 5


@pytest.mark.release
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("DUPACK_SHORT", "1")
    monkeypatch.setenv("MPLBACKEND", "agg")
    book = nbformat.read(path, as_version=4)
    # Notebooks are stored without outputs, because outputs could be outdated.
    assert all(not cell.get("outputs") for cell in book.cells)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
