"""Catalog of algorithms, including your own."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from . import _native

__all__ = ["Catalog", "catalog", "deployment", "register", "stacks"]

T = TypeVar("T")


class Catalog:
    """Algorithms by axis and name: dupack's own algorithms, and those that :meth:`register` adds.

    >>> "cubic" in Catalog()
    True
    >>> Catalog().canonical("rack/cubic")
    'rack/cubic'
    """

    def __init__(self) -> None:
        self._native = _native.Catalog()
        self._registered: dict[tuple[str, str], type[Any]] = {}

    def register(self, algorithm: type[T]) -> type[T]:
        """Register an algorithm written in Python. This method can be used as a decorator.

        If the same class is defined again, for example when a notebook cell is rerun, the new class replaces the
        earlier one. Experiments that already exist keep the earlier class.

        Args:
            algorithm: a subclass of :class:`dupack.Recovery`, :class:`dupack.CongestionControl`,
                :class:`dupack.Differentiation` or :class:`dupack.Response`.

        Raises:
            AlgorithmError: if the class is not such a subclass, if its name is missing or taken, or if it has an
                invalid parameter.
        """
        from .algorithms import register

        key = register(self._native, algorithm, self._registered)
        self._registered[key] = algorithm
        return algorithm

    @property
    def registered(self) -> list[type[Any]]:
        """The registered algorithms in Python."""
        return list(self._registered.values())

    def algorithms(self, name: str | None = None) -> list[dict[str, Any]]:
        """Describe the algorithm ``name``, or all algorithms.

        Each description has the axis, the name, the summary, the citation, and the parameters with their defaults
        in each dialect.

        Raises:
            StackError: if there is no algorithm of that name.
        """
        listing: Any = json.loads(self._native.listing(name))
        found: list[dict[str, Any]] = listing if isinstance(listing, list) else listing["algorithms"]
        return found

    def canonical(self, stack: str) -> str:
        """Return the canonical spelling of a stack, which has no default values and no aliases.

        Raises:
            StackError: if the stack does not exist, or if its parts cannot be combined.
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
"""The default catalog."""


def register(algorithm: type[T]) -> type[T]:
    """Register an algorithm in :data:`dupack.catalog`. This function can be used as a decorator.

    Raises:
        AlgorithmError: if the class is invalid, or its name is taken.
    """
    catalog.register(algorithm)
    return algorithm


def stacks(name: str | None = None, *, catalog: Catalog | None = None) -> list[dict[str, Any]]:
    """Describe the algorithms of the catalog, as ``dupack stacks --json`` does."""
    return _or_default(catalog).algorithms(name)


def deployment(stack: str, *, catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the Linux support of a stack, as ``dupack stacks STACK --json`` prints it.

    The result says which parts of the stack Linux implements, and how to enable these parts.

    Raises:
        StackError: if the stack does not exist.
    """
    native = _or_default(catalog)._native
    read: dict[str, Any] = json.loads(native.deployment(stack))
    return read


def _or_default(chosen: Catalog | None) -> Catalog:
    return catalog if chosen is None else chosen


