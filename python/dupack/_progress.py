"""Progress bars: in a terminal, in a notebook, or none."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

Tick = Callable[[int, int, "list[str]"], None]

# Minimum duration of work that shows a bar, in seconds.
_DELAY_S = 0.5


class Bar:
    """Progress bar by tqdm.

    ``wish`` is ``True`` for a bar in any case, ``False`` for no bar, ``None`` for a bar only in a terminal or a
    notebook, or a function that is called with ``(done, all)`` instead.
    """

    def __init__(self, wish: bool | Callable[[int, int], object] | None, what: str) -> None:
        if wish is not None and not isinstance(wish, bool) and not callable(wish):
            raise TypeError(
                f"progress: expected True, False, None or a function of (done, all), found {wish!r}"
            )
        self._call = wish if callable(wish) else None
        self._bar: Any = None
        if self._call is None and wish is not False:
            from tqdm.auto import tqdm

            # With `disable=None`, tqdm draws only in a terminal or a notebook.
            self._bar = tqdm(
                total=0,
                desc=what,
                unit="run",
                delay=_DELAY_S,
                leave=False,
                disable=False if wish is True else None,
            )

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, done: int, all: int, notes: list[str]) -> None:
        for note in notes:
            warnings.warn(note, stacklevel=2)
        if self._call is not None:
            self._call(done, all)
        elif self._bar is not None and self._bar.n != done:
            self._bar.total = all
            self._bar.update(done - self._bar.n)
