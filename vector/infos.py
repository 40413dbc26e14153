"""Merging the infos of single envs into those of a vector env."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_INT64 = np.iinfo(np.int64)


def merge_infos(infos: Iterable[tuple[int, Mapping[str, Any]]], num_envs: int) -> dict[str, Any]:
    """Return columns of length `num_envs`, one a key, each with a boolean mask `_key`.

    The layout is that of `gymnasium.vector.VectorEnv._add_info`. That method fixes a column's type
    by the first env that has the key and casts or fails on the others (1 then 2.7 gives 2, 1 then
    "a" raises); here a column's type is one that holds every value unchanged:

    - Python or NumPy numbers: the smallest common type among bool, int64, float64 or NumPy's
      promotion. A bool among numbers, or an int beyond int64, makes an object column;
    - arrays of one shape: an array `(num_envs, *shape)`;
    - dictionaries: a dictionary of columns, merged by the same rules;
    - `final_obs`, and all else: an object column.

    Entries of envs that lack a key are 0, False or None. A key `_key` of an env is dropped where
    it is the name of another key's mask.

    Args:
        infos: Pairs of env index and info. An index may come more than once: later values win.
        num_envs: Length of the columns.
    """
    columns: dict[str, dict[int, Any]] = {}
    for index, info in infos:
        for key, value in info.items():
            columns.setdefault(key, {})[index] = value
    merged: dict[str, Any] = {}
    for key, values in columns.items():
        if key.startswith("_") and key[1:] in columns:
            continue
        merged[key] = _column(key, values, num_envs)
        mask = np.zeros(num_envs, dtype=np.bool_)
        mask[list(values)] = True
        merged[f"_{key}"] = mask
    return merged


def _column(key: str, values: dict[int, Any], num_envs: int) -> Any:
    given = list(values.values())
    if key != "final_obs":
        if all(isinstance(value, dict) for value in given):
            return merge_infos(values.items(), num_envs)
        dtype = _common_dtype(given)
        if dtype is not None:
            column = np.zeros((num_envs, *np.shape(given[0])), dtype=dtype)
            for index, value in values.items():
                column[index] = value
            return column
    objects: npt.NDArray[Any] = np.full(num_envs, None, dtype=object)
    for index, value in values.items():
        objects[index] = value
    return objects


def _common_dtype(values: list[Any]) -> np.dtype[Any] | None:
    """Return the type that holds every value unchanged, or None where that is `object`."""
    if all(type(value) is bool for value in values):
        return np.dtype(np.bool_)
    if all(type(value) in (int, float) for value in values):
        ints = [value for value in values if type(value) is int]
        if len(ints) == len(values):
            fits = all(_INT64.min <= value <= _INT64.max for value in ints)
            return np.dtype(np.int64) if fits else None
        return np.dtype(np.float64) if all(abs(value) <= 2**53 for value in ints) else None
    if all(isinstance(value, np.bool_) for value in values):
        return np.dtype(np.bool_)
    if all(isinstance(value, np.number | int | float) for value in values):
        if any(isinstance(value, bool) for value in values):
            return None
        return _promoted([np.asarray(value).dtype for value in values])
    if all(isinstance(value, np.ndarray) for value in values):
        if len({value.shape for value in values}) > 1:
            return None
        return _promoted([value.dtype for value in values])
    return None


def _promoted(dtypes: list[np.dtype[Any]]) -> np.dtype[Any] | None:
    if len(set(dtypes)) == 1:
        return dtypes[0]
    if any(dtype.kind not in "iuf" for dtype in dtypes):
        return None
    promoted = np.result_type(*dtypes)
    # int64 with uint64 or a float promotes to float64, which cannot hold every int64.
    wide = any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes)
    return None if promoted.kind == "f" and wide else promoted
