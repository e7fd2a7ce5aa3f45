"""Report cards by RFC 9743, and published results rerun."""

from __future__ import annotations

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
from .errors import StackError

__all__ = ["Card", "Reproduction", "evaluate", "papers", "reproduce"]

Progress = bool | Callable[[int, int], object] | None


@dataclass(frozen=True)
class Card:
    """A stack's report card.

    Attributes:
        stack: the stack.
        extent: ``full`` or ``quick``.
        rows: a mapping per criterion: section, heading, key, title, verdict, found, rule, threshold.
        fields: the whole card as ``card.json`` has it.
    """

    stack: str
    extent: str
    rows: list[dict[str, Any]]
    fields: dict[str, Any]

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each criterion by its key: ``meets``, ``does-not-meet``, ``cannot-be-told``,
        ``not-applicable``."""
        return {row["key"]: row["verdict"] for row in self.rows if row.get("key")}

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        return f"<Card of {self.stack} ({self.extent}): {told}>"

    def _repr_html_(self) -> str:
        return rows_table(("section", "title", "verdict", "found"), self.rows)


def evaluate(
    stacks: str | Sequence[str],
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    jobs: int | None = None,
    suite: str | os.PathLike[str] | None = None,
    catalog: Catalog | None = None,
    progress: Progress = None,
) -> list[Card]:
    """Judges stacks by RFC 9743's criteria, as ``dupack evaluate`` does (``docs/evaluation.md``).

    Args:
        stacks: one, or several to compare.
        only: keys of criteria, or of headings; all if none is named.
        quick: fewer seeds and shorter runs: a look, not a verdict.
        jobs: runs at a time; one per processor if nothing is said.
        suite: a folder with a suite of one's own.
        catalog: the algorithms.
        progress: as in :meth:`dupack.Experiment.run`.

    Raises:
        StackError: if there is no such stack or criterion, or the suite cannot be read.
    """
    named = [stacks] if isinstance(stacks, str) else list(stacks)
    if not named:
        raise StackError("there is no stack to evaluate", help="name one, such as rack/bbr")
    native = (_the_catalog if catalog is None else catalog)._native
    place = None if suite is None else Path(suite)
    with Bar(progress, "evaluate") as bar:
        text = _native.evaluate(named, native, list(only), quick, jobs or 0, place, bar)
    cards: list[dict[str, Any]] = json.loads(text)
    return [Card(card["stack"], card["extent"], card["rows"], card) for card in cards]


@dataclass(frozen=True)
class Reproduction:
    """What became of a paper's claims.

    Attributes:
        key: the paper's key.
        claims: a mapping per claim: claim, text, paper (what it says), found, verdict (``holds``,
            ``does not hold``, ``cannot be told``), explanation.
        tables: its tables as CSV, by name.
    """

    key: str
    claims: list[dict[str, Any]]
    tables: dict[str, str]

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each claim."""
        return {claim["claim"]: claim["verdict"] for claim in self.claims}

    def __repr__(self) -> str:
        hold = sum(claim["verdict"] == "holds" for claim in self.claims)
        return f"<Reproduction of {self.key}: {hold} of {len(self.claims)} claims hold>"

    def _repr_html_(self) -> str:
        return rows_table(("claim", "text", "paper", "found", "verdict", "explanation"), self.claims)


def papers() -> dict[str, str]:
    """The papers that can be rerun: their keys with their titles."""
    return dict(_native.paper_list())


def reproduce(
    key: str,
    *,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Reruns a paper's experiments and judges its claims, as ``dupack papers KEY`` does.

    Args:
        key: one of :func:`papers`.
        quick: fewer seeds and shorter runs: a look, not a verdict.
        jobs: runs at a time.
        progress: as in :meth:`dupack.Experiment.run`.

    Raises:
        ExperimentError: if there is no such paper.
    """
    with Bar(progress, key) as bar:
        claims, tables = _native.paper(key, quick, jobs or 0, bar)
    read: list[dict[str, Any]] = json.loads(claims)
    return Reproduction(key, read, dict(tables))
