"""The algorithms that stacks are made of, and those of one's own."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from . import _native

__all__ = ["Catalog", "catalog", "deployment", "register", "stacks"]

T = TypeVar("T")


class Catalog:
    """Algorithms by axis and name: those of dupack, and those that :meth:`register` adds.

    >>> "cubic" in Catalog()
    True
    >>> Catalog().canonical("rack/cubic")
    'rack/cubic'
    """

    def __init__(self) -> None:
        self._native = _native.Catalog()
        self._registered: dict[tuple[str, str], type[Any]] = {}

    def register(self, algorithm: type[T]) -> type[T]:
        """Takes in an algorithm in Python; may be used as a decorator. The same class written anew, as when a
        cell of a notebook is run again, takes the place of the one before; experiments that were made
        before keep that.

        Args:
            algorithm: a subclass of :class:`dupack.Recovery`, :class:`dupack.CongestionControl`,
                :class:`dupack.Differentiation` or :class:`dupack.Response`.

        Raises:
            AlgorithmError: if it is none of these, has no name, its name is taken, or one of its
                parameters is not well-formed.
        """
        from .algorithms import register

        key = register(self._native, algorithm, self._registered)
        self._registered[key] = algorithm
        return algorithm

    @property
    def registered(self) -> list[type[Any]]:
        """The algorithms in Python."""
        return list(self._registered.values())

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
        return f"<Catalog of {len(self.algorithms())} algorithms, {len(self._registered)} in Python>"

    def __str__(self) -> str:
        return self._native.text(None, None)

    def __getstate__(self) -> dict[str, object]:
        return {"registered": self.registered}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Catalog.__init__(self)
        for algorithm in state["registered"]:
            self.register(algorithm)


catalog = Catalog()
"""The catalog that is used where none is named."""


def register(algorithm: type[T]) -> type[T]:
    """Takes an algorithm in Python into :data:`dupack.catalog`; for use as a decorator.

    Raises:
        AlgorithmError: if it is not well-formed, or its name is taken.
    """
    catalog.register(algorithm)
    return algorithm


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


