"""Tables in Arrow's format. Libraries for data frames read these tables without a copy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Table"]


class Table:
    """A table in Arrow's format. Its columns have names, units and descriptions.

    Libraries that support the Arrow PyCapsule interface read the table directly: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.sql("from table")`` (of a pyarrow table). For pandas 2.2 and later, use
    :meth:`to_pandas`.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column. The unit of counts, shares and text is empty."""
        return dict(self._native.units)

    @property
    def descriptions(self) -> dict[str, str]:
        """The description of each column."""
        return dict(self._native.descriptions)

    def __len__(self) -> int:
        return self._native.rows

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        """Return a column as a NumPy array. Missing numbers are NaN, and text is an array of objects.

        Raises:
            KeyError: if the column does not exist.
        """
        import numpy as np

        if column not in self.columns:
            raise KeyError(f"unknown column {column!r}; columns are {', '.join(self.columns)}")
        buffer, dtype = self._native.column(column)
        if dtype == "object":
            return np.array(buffer, dtype=object)
        return np.frombuffer(buffer, dtype=dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return the first ``most`` rows, by default all rows, each as a mapping. Use this only for small tables."""
        return self._native.rows_of(len(self) if most is None else most)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame of pandas. Its ``attrs`` have the units and descriptions.

        Raises:
            ImportError: if pandas or pyarrow is not installed (``pip install 'dupack[pandas]'``).
        """
        frame = self.to_arrow().to_pandas()
        frame.attrs["units"] = self.units
        frame.attrs["descriptions"] = self.descriptions
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of polars.

        Raises:
            ImportError: if polars is not installed (``pip install 'dupack[polars]'``).
        """
        import polars as pl

        return pl.DataFrame(self)

    def to_arrow(self) -> pa.Table:
        """Return a table of pyarrow.

        Raises:
            ImportError: if pyarrow is not installed (``pip install 'dupack[pandas]'``).
        """
        import pyarrow as pa

        return pa.table(self)

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, with units and descriptions in its schema.

        Raises:
            FolderError: if the file cannot be written, or exists already.
        """
        self._native.write_parquet(Path(path))

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)
