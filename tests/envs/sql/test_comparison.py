"""When rows are the right ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.reference import ExpectedRows


def expected(rows, columns=("a", "b"), keys=None):
    return ExpectedRows(tuple(columns), tuple(rows), None if keys is None else tuple(keys))


def test_rows_may_come_in_any_order_where_none_is_asked_for():
    assert rows_match(expected([(1, "x"), (2, "y")]), ["a", "b"], [(2, "y"), (1, "x")])


def test_duplicates_count():
    right = expected([(1, "x"), (1, "x"), (2, "y")])
    assert not rows_match(right, ["a", "b"], [(1, "x"), (2, "y"), (2, "y")])
    assert not rows_match(right, ["a", "b"], [(1, "x"), (2, "y")])


def test_no_rows_are_never_right():
    assert not rows_match(expected([]), ["a", "b"], [])


def test_names_of_columns_are_free_and_then_their_place_counts():
    right = expected([(1, "x")], columns=("COUNT(*)", "name"))
    assert rows_match(right, ["n", "who"], [(1, "x")])
    assert not rows_match(right, ["who", "n"], [("x", 1)])


def test_columns_with_the_right_names_may_come_in_any_place():
    right = expected([(1, "x")], columns=("id", "name"))
    assert rows_match(right, ["NAME", "Id"], [("x", 1)])
    assert rows_match(right, ["p.name", "p.id"], [("x", 1)])


def test_swapped_values_under_swapped_names_are_wrong():
    right = expected([(1, 9)], columns=("MIN(x)", "MAX(x)"))
    assert rows_match(right, ["max( x )", "min(x)"], [(9, 1)])
    assert not rows_match(right, ["low", "high"], [(9, 1)])
    assert not rows_match(right, ["MAX(x)", "MIN(x)"], [(1, 9)])


def test_one_column_more_or_less_is_wrong():
    right = expected([(1, "x")])
    assert not rows_match(right, ["a"], [(1,)])
    assert not rows_match(right, ["a", "b", "c"], [(1, "x", 3)])


@pytest.mark.parametrize(
    ("wanted", "given", "equal"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (1482.2222222222224, 1482.222222222222, True),
        (1, 2, False),
        (1, 1.001, False),
        (2**60, 2**60 + 1, False),
        (0.345, 0.35, False),
        (1, "1", False),
        ("x", b"x", False),
        ("x", "X", False),
        ("x", "x ", False),
        (b"caf\xe9", "caf", False),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        (0, "", False),
        (float("inf"), float("inf"), True),
        (float("inf"), 1e308, False),
        (0.0, -0.0, True),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_values_are_equal_by_type_and_value(wanted, given, equal):
    assert rows_match(expected([(wanted,)], ["a"]), ["b"], [(given,)]) is equal


def test_order_counts_where_it_is_asked_for():
    right = expected([(1, "x"), (2, "y")], keys=[(1,), (2,)])
    assert rows_match(right, ["a", "b"], [(1, "x"), (2, "y")])
    assert not rows_match(right, ["a", "b"], [(2, "y"), (1, "x")])
    assert rows_match(right, ["a", "b"], [(2, "y"), (1, "x")], ordered=False)


def test_tied_rows_may_come_in_any_order_among_themselves():
    right = expected([(1, "x"), (1, "y"), (2, "z")], keys=[(1,), (1,), (2,)])
    assert rows_match(right, ["a", "b"], [(1, "y"), (1, "x"), (2, "z")])
    assert not rows_match(right, ["a", "b"], [(1, "y"), (2, "z"), (1, "x")])


def test_a_second_key_counts_also_after_tied_null():
    rows = [(None, "x"), (None, "y")]
    right = expected(rows, keys=[(None, 1), (None, 2)])
    assert rows_match(right, ["a", "b"], rows)
    assert not rows_match(right, ["a", "b"], rows[::-1])


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.binary(max_size=4),
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.randoms())
def test_rows_match_themselves_in_any_order(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert rows_match(expected(rows), ["a", "b"], shuffled)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.data())
def test_a_row_left_out_is_always_seen(rows, data):
    place = data.draw(st.integers(0, len(rows) - 1))
    assert not rows_match(expected(rows), ["a", "b"], rows[:place] + rows[place + 1 :])
