"""Declaration of an algorithm's class for the catalog: name, parameters, and hash of the sources."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import sys
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, TypeVar

from ._native import Context
from ._sources import sources
from .errors import AlgorithmError

__all__ = ["Declaration", "declared", "parameter", "seconds"]

T = TypeVar("T")

_KEY = "dupack"
_NEEDS = ("sack", "dsack", "order_echo", "trigger_timestamps", "counted_marks", "exact_echo")
_U64_MAX = 2**64 - 1
# Maximum value of a duration parameter, in seconds.
_TIME_MAX = 1e9


@dataclass(frozen=True)
class _Parameter:
    """Properties of a parameter other than its type and default."""

    linux: object
    ns2: object
    low: float | None
    high: float | None
    unit: str
    source: str
    doc: str
    words: Mapping[str, str]
    is_time: bool


def parameter(
    default: T,
    *,
    linux: T | None = None,
    ns2: T | None = None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    source: str = "",
    doc: str = "",
    words: Mapping[str, str] | None = None,
) -> T:
    """Declare a parameter of an algorithm: a field whose type determines the valid values.

    ========================  ==========================================  =====================
    type of the field         valid values                                in a stack
    ========================  ==========================================  =====================
    ``float``                 a number from ``low`` to ``high``           ``half(increase=2)``
    ``int``                   a whole number from ``low`` to ``high``     ``half(burst=4)``
    ``bool``                  ``on`` or ``off``                           ``half(eager=on)``
    ``Literal["a", "b"]``     one of these words                          ``half(mode=b)``
    an ``Enum``               one of its values                           ``half(mode=b)``
    ========================  ==========================================  =====================

    Args:
        default: default value.
        linux: default in the dialect ``linux``, if different.
        ns2: default in the dialect ``ns2``, if different.
        low: minimum value of a number.
        high: maximum value of a number.
        unit: unit of a number, such as ``"segments"``.
        source: source of the default, such as ``"RFC 5681"``.
        doc: description in one line.
        words: meaning of each word of a choice, in one line.
    """
    about = _Parameter(linux, ns2, low, high, unit, source, doc, dict(words or {}), False)
    field: T = dataclasses.field(default=default, metadata={_KEY: about})
    return field


def seconds(
    default: float,
    *,
    linux: float | None = None,
    ns2: float | None = None,
    source: str = "",
    doc: str = "",
) -> float:
    """Declare a duration parameter.

    The value is a ``float`` in seconds. In a stack, the value is written with a unit: ``half(wait=20ms)``.

    Args:
        default: default value in seconds.
        linux: default in the dialect ``linux``, if different.
        ns2: default in the dialect ``ns2``, if different.
        source: source of the default.
        doc: description in one line.
    """
    about = _Parameter(linux, ns2, None, None, "", source, doc, {}, True)
    field: float = dataclasses.field(default=default, metadata={_KEY: about})
    return field


@dataclass(frozen=True)
class Declared:
    """A parameter in the form that the catalog expects."""

    name: str
    doc: str
    source: str
    kind: Literal["choice", "integer", "real", "time"]
    low: float | int | None
    high: float | int | None
    unit: str
    words: list[tuple[str, str]]
    defaults: tuple[object, object, object]
    values: dict[str, object]
    """Python value of each word of a choice."""


@dataclass(frozen=True)
class Declaration:
    """A class in the form that the catalog expects."""

    axis: str
    name: str
    aliases: list[str]
    summary: str
    citation: str
    file: str
    sources: str
    needs: list[str]
    algorithm: type[Any]
    make: Any
    overrides: list[str]
    parameters: list[Declared]


def declared(algorithm: type[Any], axis: str, base: type[Any], required: Sequence[str]) -> Declaration:
    """Return the declaration of ``algorithm``, a subclass of ``base``.

    Raises:
        AlgorithmError: if the class is invalid.
    """
    name = _text(algorithm, "name")
    if not name:
        raise _wrong(algorithm, "the class has no name", 'set name in the class, for example name = "half"')
    methods = [name for name, value in vars(base).items() if callable(value) and not name.startswith("_")]
    overrides = [m for m in methods if getattr(algorithm, m) is not getattr(base, m)]
    _check_methods(algorithm, base, methods, overrides, required)
    parameters = _parameters(algorithm)
    words = {p.name: p.values for p in parameters if p.values}
    declaration = Declaration(
        axis=axis,
        name=name,
        aliases=_texts(algorithm, "aliases"),
        summary=_text(algorithm, "summary") or _first_line(algorithm),
        citation=_text(algorithm, "citation"),
        file=_file(algorithm),
        sources=sources(algorithm),
        needs=_needs(algorithm),
        algorithm=algorithm,
        make=_Maker(words),
        overrides=overrides,
        parameters=parameters,
    )
    _try(algorithm, declaration)
    return declaration


class _Maker:
    """Callable that creates instances of an algorithm. Unlike a closure, this object can be pickled."""

    def __init__(self, words: dict[str, dict[str, object]]) -> None:
        self._words = words

    def __call__(self, algorithm: type[Any], context: Context, values: dict[str, Any]) -> object:
        for name, words in self._words.items():
            values[name] = words[values[name]]
        new: Any = algorithm.__new__
        made = new(algorithm)
        # Set `context` before `__init__`, so that `__post_init__` can use it.
        object.__setattr__(made, "context", context)
        made.__init__(**values)
        return made


def _try(algorithm: type[Any], declaration: Declaration) -> None:
    """Create an instance with the defaults of each dialect, to find errors early."""
    for n in range(3):
        values = {p.name: p.defaults[n] for p in declaration.parameters}
        try:
            declaration.make(algorithm, Context(), values)
        except Exception as error:
            raise _wrong(
                algorithm,
                f"cannot make an instance with the defaults: {type(error).__name__}: {error}",
                "__init__, if defined, takes the parameters as keywords; other initial state belongs in "
                "__post_init__",
            ) from error


def _wrong(algorithm: type[Any], what: str, help: str | None = None) -> AlgorithmError:
    return AlgorithmError(f"{algorithm.__qualname__}: {what}", help=help)


def _text(algorithm: type[Any], name: str) -> str:
    text = getattr(algorithm, name)
    if not isinstance(text, str):
        raise _wrong(algorithm, f"{name}: expected text, found a {type(text).__name__}")
    return text.strip()


def _texts(algorithm: type[Any], name: str) -> list[str]:
    texts: Any = getattr(algorithm, name)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise _wrong(algorithm, f"{name}: expected a tuple of texts", f'for example {name} = ("one",)')
    return list(texts)


def _first_line(algorithm: type[Any]) -> str:
    # Ignore the docstring that `dataclass` generates.
    doc = algorithm.__dict__.get("__doc__") or ""
    if doc.startswith(f"{algorithm.__name__}("):
        return ""
    return doc.strip().split("\n", 1)[0].strip().rstrip(".")


def _file(algorithm: type[Any]) -> str:
    try:
        return inspect.getsourcefile(algorithm) or "(no file)"
    except (TypeError, OSError):
        return "(no file)"


def _needs(algorithm: type[Any]) -> list[str]:
    needs = _texts(algorithm, "needs")
    for need in needs:
        if need not in _NEEDS:
            known = ", ".join(map(repr, _NEEDS))
            raise _wrong(algorithm, f"needs: unknown need {need!r}", f"expected {known}")
    return needs


def _check_methods(
    algorithm: type[Any],
    base: type[Any],
    methods: Sequence[str],
    overrides: Sequence[str],
    required: Sequence[str],
) -> None:
    for method in required:
        if method not in overrides:
            raise _wrong(
                algorithm,
                f"the class lacks the method {method}",
                f"a {base.__name__} defines at least {', '.join(required)}",
            )
    for method in overrides:
        if not callable(getattr(algorithm, method)):
            raise _wrong(algorithm, f"{method} is not a method")
        _check_signature(algorithm, base, method)
    for name, value in vars(algorithm).items():
        if name in methods or name.startswith("_") or not inspect.isfunction(value):
            continue
        meant = difflib.get_close_matches(name, methods, n=1, cutoff=0.85)
        if meant or name.startswith("on_"):
            raise _wrong(
                algorithm,
                f"a {base.__name__} has no method {name}, so it would never be called",
                f"did you mean {meant[0]}?" if meant else f"the name of a helper method begins with _: _{name}",
            )


def _check_signature(algorithm: type[Any], base: type[Any], method: str) -> None:
    try:
        wanted = inspect.signature(getattr(base, method))
        own = inspect.signature(getattr(algorithm, method))
    except (TypeError, ValueError):
        return  # A method that is not written in Python may have no signature.
    is_static = isinstance(inspect.getattr_static(algorithm, method), (staticmethod, classmethod))
    arguments = list(wanted.parameters)[1 if is_static else 0 :]
    try:
        own.bind(*arguments)
    except TypeError as error:
        raise _wrong(
            algorithm,
            f"{method} cannot be called with its arguments: {error}",
            f"define it as def {method}({', '.join(wanted.parameters)})",
        ) from error


def _parameters(algorithm: type[Any]) -> list[Declared]:
    fields: Any = dataclasses.fields(algorithm)
    own = [field for field in fields if _KEY in field.metadata]
    hints = _hints(algorithm, own)
    for field in fields:
        without = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if _KEY not in field.metadata and field.init and without:
            raise _wrong(
                algorithm,
                f"the field {field.name} has no default",
                f"declare a parameter as {field.name}: float = dupack.parameter(…), or give the field a default",
            )
    return [_Reading(algorithm, field.name, field.metadata[_KEY], field.default, hints[field.name]).read() for field in own]


def _hints(algorithm: type[Any], fields: Sequence[Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(algorithm)
    except Exception:
        # An annotation uses a name that cannot be found, such as a class inside a function. Read only the
        # annotations of the parameters. If this fails, use the types of their defaults.
        return {field.name: _hint(algorithm, field) for field in fields}


def _hint(algorithm: type[Any], field: Any) -> Any:
    if not isinstance(field.type, str):
        return field.type
    names: dict[str, Any] = {}
    for base in reversed(algorithm.__mro__):
        names.update(vars(sys.modules.get(base.__module__, typing)))
    try:
        return eval(field.type, names)  # Safe: the text is an annotation of the class.
    except Exception:
        return type(field.default)


@dataclass(frozen=True)
class _Reading:
    """Conversion of a field into a declared parameter."""

    algorithm: type[Any]
    name: str
    about: _Parameter
    default: Any
    hint: Any

    def read(self) -> Declared:
        if self.about.is_time:
            return self._time()
        if self.hint is bool:
            return self._choice({"on": True, "off": False}, {"on": "yes", "off": "no"})
        if typing.get_origin(self.hint) is Literal:
            words: dict[str, object] = {}
            for word in typing.get_args(self.hint):
                if not isinstance(word, str):
                    raise self._wrong(f"expected a Literal of texts, found {word!r}")
                words[word] = word
            return self._choice(words, {})
        if isinstance(self.hint, type) and issubclass(self.hint, Enum):
            members: dict[str, object] = {_word_of(member): member for member in self.hint}
            return self._choice(members, {})
        if self.hint is int:
            return self._number("integer", int)
        if self.hint is float:
            return self._number("real", float)
        raise self._wrong(
            f"unsupported type {self.hint!r}",
            "use a float, an int, a bool, a Literal of texts, an Enum, or dupack.seconds(…)",
        )

    def _defaults(self) -> tuple[Any, Any, Any]:
        linux = self.default if self.about.linux is None else self.about.linux
        ns2 = self.default if self.about.ns2 is None else self.about.ns2
        return (self.default, linux, ns2)

    def _declared(self, kind: Any, defaults: tuple[object, ...], **more: Any) -> Declared:
        about = self.about
        whole: dict[str, Any] = {"low": None, "high": None, "words": [], "values": {}, **more}
        first, second, third = defaults
        return Declared(
            name=self.name,
            doc=about.doc,
            source=about.source or "its author",
            kind=kind,
            unit=about.unit,
            defaults=(first, second, third),
            **whole,
        )

    def _choice(self, values: dict[str, object], meanings: dict[str, str]) -> Declared:
        defaults: list[str] = []
        for default in self._defaults():
            # Compare types, because `True == 1`.
            found = [w for w, value in values.items() if type(value) is type(default) and value == default]
            if not found:
                known = ", ".join(map(repr, values.values()))
                raise self._wrong(f"the default {default!r} is not one of {known}")
            defaults.append(found[0])
        for word in self.about.words:
            if word not in values:
                raise self._wrong(f"words: unknown word {word!r}")
        meanings = {**meanings, **self.about.words}
        words = [(word, meanings.get(word, word)) for word in values]
        return self._declared("choice", tuple(defaults), words=words, values=values)

    def _number(self, kind: str, of: type[Any]) -> Declared:
        low, high = self.about.low, self.about.high
        if low is None or high is None:
            raise self._wrong(
                "a number needs bounds",
                "for example dupack.parameter(…, low=0, high=100)",
            )
        if kind == "integer" and not (0 <= low <= high <= _U64_MAX and low == int(low) and high == int(high)):
            raise self._wrong(
                f"invalid bounds low={low!r} and high={high!r}: expected whole numbers, 0 <= low <= high",
                "use a float for negative numbers",
            )
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise self._wrong(f"invalid bounds low={low!r} and high={high!r}: expected finite numbers, low <= high")
        defaults: list[object] = []
        for default in self._defaults():
            is_number = isinstance(default, (int, of)) and not isinstance(default, bool)
            if not is_number or not low <= default <= high:
                kind_of = "an int" if of is int else f"a {of.__name__}"
                raise self._wrong(f"the default {default!r} is not {kind_of} from {low} to {high}")
            defaults.append(of(default))
        return self._declared(kind, tuple(defaults), low=of(low), high=of(high))

    def _time(self) -> Declared:
        if self.hint is not float:
            raise self._wrong("a duration is a float, in seconds", f"{self.name}: float = dupack.seconds(…)")
        defaults: list[object] = []
        for default in self._defaults():
            is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
            if not is_number or not 0 <= default <= _TIME_MAX:
                raise self._wrong(f"the default {default!r} is not a duration in seconds, 0 or more")
            defaults.append(float(default))
        return self._declared("time", tuple(defaults))

    def _wrong(self, what: str, help: str | None = None) -> AlgorithmError:
        return _wrong(self.algorithm, f"the parameter {self.name}: {what}", help)


def _word_of(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else member.name.lower()
