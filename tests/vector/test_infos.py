"""Merged infos: Gymnasium's layout, with column types that hold every value."""

import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from hypothesis import given
from hypothesis import strategies as st

from execgym.vector.infos import merge_infos


def reference(infos, num_envs):
    envs = VectorEnv()
    envs.num_envs = num_envs
    merged = {}
    for index, info in infos:
        merged = envs._add_info(merged, info, index)
    return merged


def assert_equal(left, right):
    assert left.keys() == right.keys()
    for key, value in left.items():
        if isinstance(value, dict):
            assert_equal(value, right[key])
        else:
            assert value.dtype == right[key].dtype
            assert value.tolist() == right[key].tolist()


# One type a key, which is what Gymnasium's merge can carry.
INFO = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(-(2**63), 2**63 - 1),
        "share": st.floats(allow_nan=False),
        "valid": st.booleans(),
        "text": st.text(max_size=5),
        "checks": st.lists(st.integers(), max_size=3).map(tuple),
        "numpy": st.integers(0, 9).map(np.int32),
        "array": st.lists(st.floats(0, 1), min_size=2, max_size=2).map(np.array),
        "usage": st.fixed_dictionaries({}, optional={"seconds": st.floats(0, 1)}),
        "final_obs": st.text(max_size=3),
    },
)


@given(st.lists(INFO, min_size=1, max_size=6))
def test_columns_equal_those_of_gymnasium_where_types_are_stable(infos):
    indexed = list(enumerate(infos))
    assert_equal(merge_infos(indexed, 7), reference(indexed, 7))


VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.integers(0, 255).map(np.uint8),
    st.floats(width=32, allow_nan=False).map(np.float32),
    st.booleans().map(np.bool_),
    st.dictionaries(st.sampled_from(["x", "y"]), st.integers() | st.text(max_size=2), max_size=2),
)


@given(st.lists(VALUE, min_size=1, max_size=5))
def test_any_mixture_of_values_is_kept_as_it_is(values):
    merged = merge_infos([(i, {"key": value}) for i, value in enumerate(values)], len(values))
    column = merged["key"]
    assert merged["_key"].all()
    if isinstance(column, dict):
        for index, value in enumerate(values):
            for inner, entry in value.items():
                assert column[inner][index] == entry
        return
    for entry, value in zip(column.tolist(), values, strict=True):
        assert entry == value


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], np.int64),
        ([1, 2.7], np.float64),
        ([True, False], np.bool_),
        ([True, 1], object),
        ([2**70, 1], object),
        ([1, None], object),
        ([1, "a"], object),
        ([[1], [1, 2]], object),
        ([{"a": 1}, "junk"], object),
        ([np.zeros(2), np.zeros(3)], object),
        ([2**53 + 1, 0.5], object),
        ([np.int32(1), np.float32(1)], np.float64),
    ],
)
def test_the_type_of_a_column_holds_every_value(values, dtype):
    merged = merge_infos([(i, {"key": value}) for i, value in enumerate(values)], 2)
    assert merged["key"].dtype == dtype


def test_missing_entries_are_masked():
    merged = merge_infos([(1, {"n": 5, "text": "a"})], 3)
    assert merged["n"].tolist() == [0, 5, 0]
    assert merged["_n"].tolist() == [False, True, False]
    assert merged["text"].tolist() == [None, "a", None]


def test_a_key_that_is_the_mask_of_another_is_dropped():
    merged = merge_infos([(0, {"n": 5, "_n": "mine", "_other": 1})], 1)
    assert merged["_n"].tolist() == [True]
    assert merged["_other"].tolist() == [1]


def test_merging_nothing_gives_nothing():
    assert merge_infos([], 3) == {}
