"""Report cards by the criteria of RFC 9743, and repetitions of published experiments."""

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
    """Report card of a stack.

    Attributes:
        stack: the stack.
        extent: ``full`` or ``quick``.
        rows: a mapping for each criterion: section, heading, key, title, verdict, found, rule, threshold.
        fields: the whole card, as in ``card.json``.
    """

    stack: str
    extent: str
    rows: list[dict[str, Any]]
    fields: dict[str, Any]

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each criterion, by the key of the criterion.

        A verdict is ``meets``, ``does-not-meet``, ``cannot-be-told`` or ``not-applicable``.
        """
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
    """Evaluate stacks by the criteria of RFC 9743, as ``dupack evaluate`` does (``docs/evaluation.md``).

    Args:
        stacks: one stack, or several to compare.
        only: keys of criteria or headings; by default all criteria.
        quick: fewer seeds and shorter runs, for a first look.
        jobs: runs at a time; by default one per processor.
        suite: folder of your own suite.
        catalog: catalog of the algorithms; by default :data:`dupack.catalog`.
        progress: as in :meth:`dupack.Experiment.run`.

    Raises:
        StackError: if a stack or criterion does not exist, or the suite cannot be read.
    """
    named = [stacks] if isinstance(stacks, str) else list(stacks)
    if not named:
        raise StackError("no stack to evaluate", help="name one, such as rack/bbr")
    native = (_the_catalog if catalog is None else catalog)._native
    place = None if suite is None else Path(suite)
    with Bar(progress, "evaluate") as bar:
        text = _native.evaluate(named, native, list(only), quick, jobs or 0, place, bar)
    cards: list[dict[str, Any]] = json.loads(text)
    return [Card(card["stack"], card["extent"], card["rows"], card) for card in cards]


@dataclass(frozen=True)
class Reproduction:
    """Verdicts on a paper's claims.

    Attributes:
        key: key of the paper.
        claims: a mapping for each claim: claim, text, paper (the statement of the paper), standing (``paper``,
            ``input``: a setting was chosen in order to meet it, ``hypothesis`` of ours, ``today``), found, verdict
            (``holds``, ``does not hold``, ``cannot be told``), explanation.
        tables: tables of the paper as CSV, by name.
    """

    key: str
    claims: list[dict[str, Any]]
    tables: dict[str, str]

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each claim, by the key of the claim."""
        return {claim["claim"]: claim["verdict"] for claim in self.claims}

    def __repr__(self) -> str:
        of_paper = [claim for claim in self.claims if claim["standing"] in ("paper", "today")]
        hold = sum(claim["verdict"] == "holds" for claim in of_paper)
        return f"<Reproduction of {self.key}: {hold} of {len(of_paper)} claims hold>"

    def _repr_html_(self) -> str:
        return rows_table(("claim", "text", "paper", "standing", "found", "verdict", "explanation"), self.claims)


def papers() -> dict[str, str]:
    """Return the keys and titles of the papers whose experiments can be repeated."""
    return dict(_native.paper_list())


def reproduce(
    key: str,
    *,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Repeat a paper's experiments and evaluate its claims, as ``dupack papers KEY`` does.

    Args:
        key: one of the keys of :func:`papers`.
        quick: fewer seeds and shorter runs, for a first look.
        jobs: runs at a time; by default one per processor.
        progress: as in :meth:`dupack.Experiment.run`.

    Raises:
        ExperimentError: if the paper does not exist.
    """
    with Bar(progress, key) as bar:
        claims, tables = _native.paper(key, quick, jobs or 0, bar)
    read: list[dict[str, Any]] = json.loads(claims)
    return Reproduction(key, read, dict(tables))
