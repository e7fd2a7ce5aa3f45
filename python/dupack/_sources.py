"""Hash of the sources of a class, so that stored runs of different code are not reused.

The hash covers:

1. For a class in a file: the text of that file and of the files of its base classes. If the class is defined
   inside a function, also the constants and the closures of its methods.
2. For a class without a file (typed into a notebook, or sent to a worker as code): the code of its methods, and the
   constants, the closures, and the functions and classes without a file that this code names.
3. If a method of such a class names an object that has no source text and is not a constant, such as an array or a
   model: a random number that is unique to the process. The runs of the class are then repeated after an
   interruption.

The hash includes the version of Python. It does not include the modules that a file imports: begin a new folder
when these modules have changed. A class keeps the hash from its registration, even if its code is sent to another
process.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import sys
import types
from collections.abc import Iterable
from enum import Enum
from typing import Any

__all__ = ["sources"]

_NAME = "__dupack_sources__"
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _Unknown(Exception):
    """The class uses an object whose sources are unknown."""


def sources(algorithm: type[Any]) -> str:
    """Return the hash of the sources of ``algorithm``, and store it in the class."""
    # A class that was sent as code contains the hash that its original process stored.
    known = algorithm.__dict__.get(_NAME)
    if isinstance(known, tuple) and known[0] != _process():  # pyright: ignore[reportUnknownArgumentType]
        return str(known[1])  # pyright: ignore[reportUnknownArgumentType]
    found = _worked_out(algorithm)
    setattr(algorithm, _NAME, (_process(), found))
    return found


_STARTED = os.urandom(8).hex()


def _process() -> str:
    """Return a name of this process. The name is unique across machines and forks."""
    return f"{_STARTED} {os.getpid()}"


def _worked_out(algorithm: type[Any]) -> str:
    digest = hashlib.sha256(f"{platform.python_implementation()} {sys.version_info[:2]}\n".encode())
    digest.update(algorithm.__qualname__.encode())
    try:
        for part in _parts(algorithm):
            digest.update(part)
    except _Unknown:
        return f"unknown {os.urandom(16).hex()}"
    return digest.hexdigest()[:32]


def _parts(algorithm: type[Any]) -> Iterable[bytes]:
    walk = _Walk()
    for base in algorithm.__mro__:
        if base is not object and not base.__module__.startswith("dupack."):
            yield from walk.of(base)


class _Walk:
    """Walk over all objects that a class uses, directly or indirectly. Each object is visited once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, thing: Any) -> Iterable[bytes]:
        if isinstance(thing, Enum):
            yield f"{type(thing).__module__} {type(thing).__qualname__}.{thing.name}\n".encode()
            return
        if isinstance(thing, _PLAIN):
            yield f"{type(thing).__name__} {thing!r}\n".encode()
            return
        if id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        if isinstance(thing, (tuple, list)):
            items: Iterable[Any] = thing  # pyright: ignore[reportUnknownVariableType]
            for item in items:
                yield from self.of(item)
        elif isinstance(thing, (set, frozenset)):
            yield repr(sorted(map(repr, thing))).encode()  # pyright: ignore[reportUnknownArgumentType]
            for item in thing:  # pyright: ignore[reportUnknownVariableType]
                if not isinstance(item, _PLAIN):
                    raise _Unknown
        elif isinstance(thing, dict):
            pairs: dict[Any, Any] = thing  # pyright: ignore[reportUnknownVariableType]
            for key, value in pairs.items():
                yield from self.of(key)
                yield from self.of(value)
        elif isinstance(thing, types.ModuleType):
            yield f"module {thing.__name__} {getattr(thing, '__version__', '')}\n".encode()
        elif isinstance(thing, (types.BuiltinFunctionType, types.BuiltinMethodType)):
            yield f"built in {thing.__module__} {thing.__qualname__}\n".encode()
        elif isinstance(thing, (type, types.FunctionType)):
            yield from self._named(thing)
        elif isinstance(thing, (staticmethod, classmethod)):
            yield from self.of(thing.__func__)  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType]
        elif isinstance(thing, property):
            for part in (thing.fget, thing.fset, thing.fdel):
                yield from self.of(part)
        else:
            raise _Unknown

    def _named(self, thing: Any) -> Iterable[bytes]:
        """Yield the sources of a class or a function."""
        name: str = thing.__module__ or ""
        module = sys.modules.get(name)
        yield f"{name} {thing.__qualname__}\n".encode()
        text = _text_of(module)
        if text is not None:
            yield text
            if "<locals>" not in thing.__qualname__:
                return
            # An object that was created inside a function also depends on its closure.
        elif module is not None and _is_compiled(module):
            yield str(getattr(module, "__version__", "")).encode()
            return
        if isinstance(thing, type):
            yield from self._class(thing)
        else:
            yield from self._function(thing, text is None)

    def _class(self, thing: type[Any]) -> Iterable[bytes]:
        for name, value in sorted(vars(thing).items()):
            if name in _WRITTEN or isinstance(value, _SLOTS) or _is_generated(name, value):
                continue
            yield name.encode()
            if name == "__dataclass_fields__":
                for field in value.values():
                    for part in (field.name, field.default, field.default_factory):
                        yield from self.of(None if part is dataclasses.MISSING else part)
            else:
                yield from self.of(value)

    def _function(self, function: types.FunctionType, with_globals: bool) -> Iterable[bytes]:
        yield from self._code(function.__code__)
        yield from self.of(function.__defaults__)
        yield from self.of(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                inside = cell.cell_contents
            except ValueError:
                continue  # The cell is still empty.
            yield from self.of(inside)
        if not with_globals:
            return  # The text of the file includes the globals.
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield name.encode()
                yield from self.of(function.__globals__[name])

    def _code(self, code: types.CodeType) -> Iterable[bytes]:
        yield code.co_code
        yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from self._code(constant)
            else:
                yield repr(constant).encode()


_SLOTS = (types.GetSetDescriptorType, types.MemberDescriptorType)

# Attributes that Python adds to a class.
_WRITTEN = frozenset(
    (
        "__annotations__ __dataclass_params__ __dict__ __doc__ __firstlineno__ __match_args__ __module__ "
        "__qualname__ __static_attributes__ __weakref__ __abstractmethods__ _abc_impl __annotate__ "
        "__annotate_func__ __annotations_cache__ __parameters__ __orig_bases__ __classcell__ " + _NAME
    ).split()
)


def _is_generated(name: str, value: object) -> bool:
    """Return ``True`` for a method that ``dataclass`` generates. Such a method is determined by the fields."""
    code = getattr(value, "__code__", None)
    is_theirs = name in ("__init__", "__repr__", "__eq__", "__replace__")
    return is_theirs and isinstance(code, types.CodeType) and code.co_filename == "<string>"


def _is_compiled(module: types.ModuleType) -> bool:
    """Return ``True`` for a module of Python itself or of a compiled library."""
    return module.__name__ in sys.builtin_module_names or isinstance(getattr(module, "__file__", None), str)


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _text_of(module: types.ModuleType | None) -> bytes | None:
    """Return the text of a module's file, or ``None`` if the module has no file, as in a notebook."""
    path = getattr(module, "__file__", None)
    if not isinstance(path, str) or not path.endswith(".py"):
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
