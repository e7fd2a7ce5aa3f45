"""The algorithms that stacks are made of."""

from __future__ import annotations

import json
from typing import Any

from . import _native

__all__ = ["Catalog", "catalog", "deployment", "stacks"]


class Catalog:
    """Algorithms by axis and name.

    >>> "cubic" in Catalog()
    True
    >>> Catalog().canonical("rack/cubic")
    'rack/cubic'
    """

    def __init__(self) -> None:
        self._native = _native.Catalog()

    def algorithms(self, name: str | None = None) -> list[dict[str, Any]]:
        """What there is to say of the algorithm ``name``, or of all: axis, name, summary, citation,
        parameters with their defaults by dialect.

        Raises:
            StackError: if there is none of that name.
        """
        listing: Any = json.loads(self._native.listing(name))
        found: list[dict[str, Any]] = listing if isinstance(listing, list) else listing["algorithms"]
        return found

    def canonical(self, stack: str) -> str:
        """The canonical spelling of a stack: no defaults, no aliases.

        Raises:
            StackError: if there is no such stack, or its parts exclude each other.
        """
        return self._native.canonical(stack)

    def __contains__(self, name: object) -> bool:
        return any(found["name"] == name for found in self.algorithms())

    def __repr__(self) -> str:
        return f"<Catalog of {len(self.algorithms())} algorithms>"

    def __str__(self) -> str:
        return self._native.text(None, None)

    def __reduce__(self) -> tuple[object, ...]:
        return (Catalog, ())


catalog = Catalog()
"""The catalog that is used where none is named."""


def stacks(name: str | None = None, *, catalog: Catalog | None = None) -> list[dict[str, Any]]:
    """The algorithms that stacks are made of, as ``dupack stacks --json`` lists them."""
    return _or_default(catalog).algorithms(name)


def deployment(stack: str, *, catalog: Catalog | None = None) -> dict[str, Any]:
    """What of a stack Linux has, and what turns it on, as ``dupack stacks STACK --json`` says.

    Raises:
        StackError: if there is no such stack.
    """
    native = _or_default(catalog)._native
    read: dict[str, Any] = json.loads(native.deployment(stack))
    return read


def _or_default(chosen: Catalog | None) -> Catalog:
    return catalog if chosen is None else chosen


