"""Tests of statements and examples in the documents."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import dupack
import pytest
from conftest import ROOT


def test_the_table_of_functions_names_existing_functions_and_tests() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    names = re.findall(r"`dupack\.(\w+)", page)
    assert len(names) > 8
    for name in names:
        assert hasattr(dupack, name), name
    tests = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", page)
    assert len(tests) > 8
    for file, test in tests:
        text = (ROOT / "python" / "tests" / file).read_text()
        assert not test or f"def {test}(" in text, (file, test)


def test_every_command_is_in_the_table() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    main = (ROOT / "crates" / "cli" / "src" / "main.rs").read_text()
    body = main.split("enum Command {")[1].split("\n}")[0]
    commands = [name.lower() for name in re.findall(r"^    ([A-Z]\w+)[(,]", body, re.MULTILINE)]
    assert len(commands) > 10
    for command in commands:
        assert f"`dupack {command}" in page, command


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_examples_of_the_readmes_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("Agg")
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    compare = dupack.compare
    # Fewer and shorter runs keep the test short.
    monkeypatch.setattr(dupack, "compare", lambda *args, **more: compare(*args, **{**more, "seeds": 1, "duration": "2s"}))
    names: dict[str, object] = {}
    for block in blocks:
        short = re.sub(r'duration="\d+s"', 'duration="5s"', block)
        short = re.sub(r"seeds=\d+", "seeds=2", short)
        short = short.replace('read("examples/fairness.toml").run()', 'read("examples/fairness.toml")')
        exec(compile(short, page, "exec"), names)


MODULES = ["dupack", *(f"dupack.{found.name}" for found in pkgutil.iter_modules(dupack.__path__) if found.name != "_native")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_are_correct(name: str) -> None:
    pytest.importorskip("gymnasium")
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 8
