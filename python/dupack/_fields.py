"""Fields of an experiment, converted from Python values to the values of an experiment file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .errors import ExperimentError

__all__ = ["as_json", "set_inside"]

_HELP = 'write a quantity as text with its unit, such as "10Mbit/s" or "20ms"'
_Way = tuple[str, ...]


def as_json(fields: Mapping[str, Any]) -> str:
    """Return the fields as JSON, without those that are ``None``.

    Raises:
        ExperimentError: if a value is not possible in a file. ``field`` names its keys.
    """
    return json.dumps(_plain(fields, (), ()), allow_nan=False)


def _plain(value: Any, way: _Way, around: tuple[int, ...]) -> Any:
    """Convert ``value`` with the keys ``way``. ``around`` has the ids of the lists and mappings that contain it."""
    if isinstance(value, (bool, float, int, str)):
        return _single(value, way)
    if isinstance(value, os.PathLike):
        return _single(os.fsdecode(cast("os.PathLike[str]", value)), way)
    if hasattr(value, "tolist"):
        # Objects of NumPy and pandas.
        return _plain(value.tolist(), way, around)
    if id(value) in around:
        raise _refused(way, "the value contains itself", "a list or mapping may not be inside itself; write it once")
    around = (*around, id(value))
    if isinstance(value, Mapping):
        return _mapping(value, way, around)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return _list(value, way, around)  # pyright: ignore[reportUnknownArgumentType]
    kind = type(value).__name__  # pyright: ignore[reportUnknownArgumentType]
    raise _refused(
        way, f"expected text, a number, a bool, a list or a mapping, found a value of type {kind}", _HELP
    )


def _mapping(value: Mapping[Any, Any], way: _Way, around: tuple[int, ...]) -> dict[str, Any]:
    named = {_single(str(key), way): item for key, item in value.items() if item is not None}
    return {key: _plain(item, (*way, key), around) for key, item in named.items()}


def _list(value: Sequence[Any], way: _Way, around: tuple[int, ...]) -> list[Any]:
    return [_plain(item, (*way, str(n)), around) for n, item in enumerate(value)]


def _single(value: bool | float | int | str, way: _Way) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            found = f"invalid text {value!r}: it has half of a surrogate pair"
            raise _refused(way, found, "write text that can be encoded in UTF-8") from error
    elif isinstance(value, float) and not math.isfinite(value):
        raise _refused(way, f"expected a finite number, found {value}", _HELP)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _refused(way, f"{value} is too large", "write a whole number below 2**63")
    return value


def set_inside(fields: dict[str, Any], key: str, value: object) -> None:
    """Set a field. Dots in the key separate nested fields. A number, counted from 0, selects an item of a list.

    Raises:
        ExperimentError: if the key names a nested field of a value that cannot have one.
    """
    if key in fields or "." not in key:
        fields[key] = value
        return
    first, rest = key.split(".", 1)
    inside: Any = fields.setdefault(first, {})
    if isinstance(inside, list):
        place, _, rest = rest.partition(".")
        items: list[Any] = inside  # pyright: ignore[reportUnknownVariableType]
        if not place.isdecimal() or int(place) >= len(items):
            last = f"items are numbered 0 to {len(items) - 1}" if items else "the list is empty"
            raise _refused((first, place), f"the list has no item {place}", last)
        if not rest:
            items[int(place)] = value
            return
        inside = items[int(place)]
    if not isinstance(inside, dict):
        raise _refused((first,), f"the value {inside!r} has no nested fields", f"set {first} itself")
    set_inside(cast("dict[str, Any]", inside), rest, value)


def _refused(way: _Way, message: str, help: str) -> ExperimentError:
    return ExperimentError(message, field=".".join(way) or None, help=help)
