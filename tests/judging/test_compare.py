import datetime
import decimal
import fractions
import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execgym.judging import (
    RowOptions,
    Tolerance,
    close_text,
    close_value,
    decode,
    encode,
    ordered_rows,
    row_bag,
    same_text,
    same_value,
)
from execgym.judging.matching import match_bags

# A loaded machine must not fail a test.
UNTIMED = settings(deadline=None)
NAN = math.nan
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.datetimes(timezones=st.sampled_from([None, datetime.UTC])),
)
keys = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)
    ),
    max_leaves=5,
)
values = st.recursive(
    st.one_of(keys, st.decimals(), st.binary(max_size=3).map(bytearray)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(keys, max_size=4),
    ),
    max_leaves=12,
)


@UNTIMED
@given(values)
def test_a_value_equals_what_the_codec_brings_back(value):
    assert same_value(value, decode(encode(value)))
    assert close_value(value, decode(encode(value)))


@UNTIMED
@given(values, values)
def test_comparing_values_is_symmetric(first, second):
    assert same_value(first, second).equal is same_value(second, first).equal
    assert close_value(first, second).equal is close_value(second, first).equal


@UNTIMED
@given(values, values)
def test_equal_values_are_close(first, second):
    if same_value(first, second):
        assert close_value(first, second)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, True),
        (0, False),
        (1, 1.0),
        (1, "1"),
        (1, decimal.Decimal(1)),
        (1.0, fractions.Fraction(1)),
        ([1], (1,)),
        ([1], [True]),
        ({1: 2}, {True: 2}),
        ({1: 2}, {1.0: 2}),
        ({1}, {True}),
        ({1}, frozenset([1])),
        ({(1, 2)}, {(1, 2.0)}),
        ({frozenset([1])}, {frozenset([True])}),
        ("a", b"a"),
        (b"a", bytearray(b"a")),
        ("é", "e\u0301"),
        ([1, 2], [1, 2, 3]),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"b": 1}),
        (None, 0),
        ([], None),
        ("", None),
        (NAN, 0.0),
        (math.inf, -math.inf),
        (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)),
        (
            datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
            datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ),
    ],
)
def test_values_of_other_types_or_other_content_differ(expected, actual):
    match = same_value(expected, actual)
    assert not match
    assert match.detail


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (NAN, float("nan")),
        ([NAN], [float("nan")]),
        ({NAN}, {float("nan")}),
        ({NAN: 1}, {float("nan"): 1}),
        ({(1, NAN)}, {(1, float("nan"))}),
        (complex(NAN, 1), complex(float("nan"), 1)),
        (decimal.Decimal("sNaN"), decimal.Decimal("sNaN")),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
        (0.0, -0.0),
        ({0.0}, {-0.0}),
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        (range(0, 3), range(0, 3, 1)),
    ],
)
def test_values_that_people_call_equal_are_equal(expected, actual):
    assert same_value(expected, actual)


def test_the_sign_of_zero_counts_where_asked():
    assert not same_value(0.0, -0.0, signed_zeros=True)
    assert not same_value({0.0}, {-0.0}, signed_zeros=True)
    assert same_value(-0.0, -0.0, signed_zeros=True)


def test_a_tuple_equals_a_list_only_where_asked():
    assert same_value([[1], (2,)], [(1,), [2]], tuples_as_lists=True)
    assert not same_value([[1], (2,)], [(1,), [2]])
    assert not same_value([1], {1}, tuples_as_lists=True)


def test_more_nans_are_not_fewer():
    assert not same_value([NAN, 1.0], [NAN])
    assert not same_value({float("nan"), float("nan")}, {NAN, 1.0})


def test_a_detail_holds_nothing_of_the_expected_value():
    for expected, actual in (("secret", "wrong"), (["secret"], ["wrong"]), ({"secret"}, {"wrong"})):
        assert "secret" not in same_value(expected, actual).detail
        assert "secret" not in close_value(expected, actual).detail
        assert "secret" not in same_text(str(expected), str(actual)).detail
    assert "secret" not in row_bag(["secret"], [["secret"]], ["a"], [["b"]]).detail
    assert "secret" not in row_bag(["a"], [["secret"]], ["a"], [["b"]]).detail


def test_an_expected_value_that_is_no_data_is_the_judges_mistake():
    with pytest.raises(TypeError, match="not plain data"):
        same_value(object(), object())


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (0.3, 0.1 + 0.2),
        (0.0, 1e-12),
        (1e300, 1e300 * (1 + 1e-7)),
        ([1.0, {"a": (2.0,)}], [1.0 + 1e-8, {"a": (2.0 - 1e-8,)}]),
        ({1.0, 2.0}, {2.0 + 1e-8, 1.0 - 1e-8}),
        ({(1, 2.0)}, {(1, 2.0 + 1e-8)}),
        (1 + 1j, 1 + (1 + 1e-8) * 1j),
        (NAN, float("nan")),
        (math.inf, math.inf),
    ],
)
def test_close_numbers_are_close(expected, actual):
    assert close_value(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1.0, 1.001),
        (1.0, 1),
        (1, 1.0),
        (1.0, True),
        (1.0, "1.0"),
        (math.inf, 1e308),
        (math.inf, -math.inf),
        (NAN, 1.0),
        (1.0, NAN),
        ({1.0, 2.0}, {1.0, 3.0}),
        ({(1, 2.0)}, {(2, 2.0)}),
        (10**9, 10**9 + 1),
        (1.0, 1.0 + 0j),
    ],
)
def test_numbers_that_are_not_close_differ(expected, actual):
    assert not close_value(expected, actual)


def test_an_int_is_taken_for_a_float_only_where_asked():
    assert close_value([3.0], [3], ints_as_floats=True)
    assert not close_value([3], [3.0], ints_as_floats=True)
    assert not close_value(1.0, True, ints_as_floats=True)
    assert not close_value(1.0, 10**400, ints_as_floats=True)


@pytest.mark.parametrize("tolerance", [-1.0, NAN, 0.7, math.inf])
def test_a_tolerance_out_of_range_is_refused(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        close_value(1.0, 1.0, rel_tol=tolerance)


numbers = st.one_of(
    st.integers(-3, 3),
    st.floats(0.875, 1.5, width=16),
    st.sampled_from([100.0, 100.04, 100.08, 100.12]),
)
items = st.lists(
    st.tuples(st.sampled_from("ab"), st.tuples(numbers, numbers)), min_size=0, max_size=5
)
WIDE = Tolerance(relative=0.1, absolute=0.0)


def can_be_paired(expected, actual, tolerance):
    """The definition, by trying every assignment."""
    return any(
        all(
            left[0] == right[0]
            and all(tolerance.close(a, b) for a, b in zip(left[1], right[1], strict=True))
            for left, right in zip(chosen, actual, strict=True)
        )
        for chosen in itertools.permutations(expected, len(actual))
    )


@given(items, items)
@settings(UNTIMED, max_examples=300)
def test_bags_match_where_some_assignment_pairs_them(expected, actual):
    size = min(len(expected), len(actual))
    wanted = can_be_paired(expected[:size], actual[:size], WIDE)
    assert match_bags(expected[:size], actual[:size], WIDE) is wanted


@given(items, st.randoms(use_true_random=False))
@settings(UNTIMED, max_examples=300)
def test_bags_match_after_a_shift_within_the_tolerance_in_any_order(expected, shuffler):
    actual = [
        (key, tuple(n if type(n) is int else n * shuffler.uniform(0.95, 1.05) for n in row))
        for key, row in expected
    ]
    shuffler.shuffle(actual)
    assert match_bags(expected, actual, WIDE)


@given(items, items)
@settings(UNTIMED, max_examples=300)
def test_part_of_a_bag_matches_where_some_assignment_pairs_it(expected, actual):
    wanted = can_be_paired(expected, actual, WIDE)
    assert match_bags(expected, actual, WIDE, part=True) is wanted


def test_a_chain_of_close_numbers_is_matched_one_to_one():
    # Greedy pairing in the order given takes 1.05 for 1.0 and strands 0.96.
    expected = [("", (1.0,)), ("", (1.1,))]
    assert match_bags(expected, [("", (1.05,)), ("", (0.96,))], WIDE)
    assert not match_bags(expected, [("", (0.96,)), ("", (0.95,))], WIDE)


def test_numbers_on_both_sides_of_a_rounding_boundary_match():
    assert row_bag(["x"], [[0.4999999999]], ["x"], [[0.5000000001]])


# --- rows ---------------------------------------------------------------------------------------

cells = st.one_of(
    st.none(),
    st.integers(-2, 2),
    st.floats(-2, 2),
    st.sampled_from([NAN, math.inf]),
    st.text("ab", max_size=2),
    st.binary(max_size=1),
)
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(cells, min_size=width, max_size=width), min_size=0, max_size=8
    ).map(lambda rows: (["a", "b", "c"][:width], rows))
)


@UNTIMED
@given(tables, st.randoms(use_true_random=False))
def test_a_bag_equals_itself_with_rows_and_columns_in_any_order(table, shuffler):
    columns, rows = table
    order = list(range(len(columns)))
    shuffler.shuffle(order)
    moved = [tuple(row[index] for index in order) for row in rows]
    shuffler.shuffle(moved)
    assert row_bag(columns, rows, [columns[index].upper() for index in order], moved)


@UNTIMED
@given(tables, tables)
def test_comparing_bags_is_symmetric(first, second):
    assert row_bag(*first, *second).equal is row_bag(*second, *first).equal


@UNTIMED
@given(tables, st.data())
def test_a_bag_without_a_row_or_with_a_row_twice_differs(table, data):
    columns, rows = table
    if not rows:
        return
    index = data.draw(st.integers(0, len(rows) - 1))
    assert not row_bag(columns, rows, columns, rows[:index] + rows[index + 1 :])
    assert not row_bag(columns, rows, columns, [*rows, rows[index]])


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, 1.0),
        (1.0, 1),
        (0, -0.0),
        (2**60, 2**60),
        (0.1 + 0.2, 0.3),
        (1234567.891, 1234567.8911),
        (decimal.Decimal("2.50"), 2.5),
        (decimal.Decimal("2"), 2),
        (None, None),
        (NAN, NAN),
        (2.0, 2.0000000001),
    ],
)
def test_cells_that_sql_people_call_equal_are_equal(expected, actual):
    assert row_bag(["x"], [[expected]], ["x"], [[actual]])


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, "1"),
        (1, True),
        (0, None),
        ("", None),
        (NAN, None),
        ("a", b"a"),
        ("a", "A"),
        ("caf\xe9", "caf"),
        ("a", "a "),
        (10**9, 10**9 + 1),
        (1e9, 1e9 + 1),
        (2**60, 2**60 + 1),
        (0.345, 0.35),
        (1.0, math.inf),
        (1, [1]),
        (decimal.Decimal("1E+999999999"), 10**300),
    ],
)
def test_cells_that_differ_make_rows_differ(expected, actual):
    assert not row_bag(["x"], [[expected]], ["x"], [[actual]])
    if type(actual) is not list:
        assert not row_bag(["x"], [[actual]], ["x"], [[expected]])


def test_two_empty_results_with_other_columns_differ():
    """E67."""
    assert row_bag(["a", "b"], [], ["B", "A"], [])
    assert not row_bag(["a"], [], ["b"], [])
    assert not row_bag(["a", "b"], [], ["a"], [])
    assert not row_bag(["a"], [], ["a", "b"], [])
    assert not row_bag(["a", "b"], [], ["x"], [], RowOptions(by_position=True))


def test_a_constant_does_not_equal_a_count_that_differs():
    """E69."""
    assert not row_bag(["n"], [[41]], ["n"], [[42]])


def test_swapped_columns_differ_and_reordered_columns_do_not():
    """E70 and F35."""
    assert not row_bag(["low", "high"], [[1, 9]], ["low", "high"], [[9, 1]])
    assert row_bag(["low", "high"], [[1, 9]], ["high", "low"], [[9, 1]])


def test_values_are_not_permuted_between_columns_of_free_names():
    by_position = RowOptions(by_position=True)
    assert row_bag(["a", "b"], [[1, 2]], ["x", "y"], [[1, 2]], by_position)
    assert not row_bag(["a", "b"], [[1, 2]], ["x", "y"], [[2, 1]], by_position)


def test_rows_are_not_paired_across_each_other():
    assert not row_bag(["a", "b"], [[1, 2.5], [2, 1.5]], ["a", "b"], [[1, 1.5], [2, 2.5]])


def test_a_superset_of_columns_passes_only_where_allowed():
    """E77 and F36."""
    wider = (["b", "a", "c"], [[2, 1, 3]])
    assert not row_bag(["a"], [[1]], *wider)
    assert row_bag(["a"], [[1]], *wider, RowOptions(extra_columns=True))


def test_an_answer_that_gives_a_column_twice_is_ambiguous():
    assert not row_bag(["a"], [[1]], ["a", "A"], [[1, 2]])
    assert not row_bag(["a"], [[1]], ["a", "A"], [[1, 2]], RowOptions(extra_columns=True))


def test_columns_of_one_name_are_paired_in_order():
    assert row_bag(["n", "n"], [[1, 2]], ["N", "n"], [[1, 2]])
    assert not row_bag(["n", "n"], [[1, 2]], ["n", "n"], [[2, 1]])
    assert not row_bag(["n", "n"], [[1, 2]], ["n"], [[1]])


def test_duplicates_of_rows_count():
    """B39: a bag, not a set."""
    assert not row_bag(["a"], [[1], [1], [2]], ["a"], [[1], [2], [2]])


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (None, []),
        (["a"], None),
        (["a"], [None]),
        (["a"], [[1, 2]]),
        (["a"], [[]]),
        ([1], [[1]]),
        ("a", [[1]]),
        (["a"], "1"),
        (["a"], {1}),
        (["a"], [{"a": 1}]),
        (["a"], [[({1},)]]),
    ],
)
def test_a_malformed_claim_differs_and_raises_nothing(columns, rows):
    assert not row_bag(["a"], [[1]], columns, rows)
    assert not row_bag(["a"], [[1]], columns, rows, RowOptions(by_position=True))


def test_expected_rows_that_do_not_fit_are_the_judges_mistake():
    with pytest.raises(ValueError, match="columns"):
        row_bag(["a"], [[1, 2]], ["a"], [[1]])
    with pytest.raises(ValueError, match="SQL value"):
        row_bag(["a"], [[[1]]], ["a"], [[1]])
    with pytest.raises(ValueError, match="order key"):
        ordered_rows(["a"], [[1]], ["a"], [[1]], [])
    with pytest.raises(ValueError, match="by name"):
        RowOptions(by_position=True, extra_columns=True)


@UNTIMED
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=10), st.randoms())
def test_permuted_ties_are_equal_and_other_orders_are_not(pairs, shuffler):
    rows = sorted(pairs, key=lambda pair: pair[0])
    order_keys = [(key,) for key, _ in rows]
    permuted = sorted(random.Random(shuffler.random()).sample(rows, len(rows)), key=lambda p: p[0])
    assert ordered_rows(["k", "v"], rows, ["k", "v"], permuted, order_keys)
    backwards = rows[::-1]
    expected = [key for key, _ in backwards] == [key for key, _ in rows]
    assert ordered_rows(["k", "v"], rows, ["k", "v"], backwards, order_keys).equal is expected


def test_a_wrong_second_key_within_tied_nulls_differs():
    """E76: ties in the first key do not end the comparison."""
    rows = [[None, 1], [None, 2]]
    assert not ordered_rows(["a", "b"], rows, ["a", "b"], rows[::-1], [(None, 1), (None, 2)])
    assert ordered_rows(["a", "b"], rows, ["a", "b"], rows[::-1], [(None,), (None,)])


def test_the_order_key_need_not_be_a_column():
    assert ordered_rows(["name"], [["x"], ["y"]], ["name"], [["x"], ["y"]], [(2,), (1,)])
    assert not ordered_rows(["name"], [["x"], ["y"]], ["name"], [["y"], ["x"]], [(2,), (1,)])


def test_any_tied_row_passes_where_a_limit_cuts_the_tie():
    """F33."""
    rows, order_keys = [["a"], ["b"], ["c"], ["d"]], [(9,), (7,), (7,), (5,)]

    def passes(*names, **cut):
        actual = [[name] for name in names]
        return bool(ordered_rows(["n"], rows, ["n"], actual, order_keys, **cut))

    assert passes("a", "b", limit=2)
    assert passes("a", "c", limit=2)
    assert not passes("a", "d", limit=2)
    assert not passes("b", "a", limit=2)
    assert not passes("a", limit=2)
    assert not passes("a", "b", "c", limit=2)
    assert passes("c", limit=1, offset=1)
    assert passes("b", "d", limit=2, offset=2)
    assert not passes("b", "b", limit=2, offset=1)
    assert passes("a", "c", "b", "d", limit=10)
    assert passes(limit=0)
    assert passes(limit=1, offset=9)


def test_a_large_result_with_close_numbers_is_compared():
    rows = [[number, number / 7, f"name {number}"] for number in range(20000)]
    moved = [[a, b * (1 + 1e-9), c] for a, b, c in rows[::-1]]
    assert row_bag(["a", "b", "c"], rows, ["a", "b", "c"], moved)
    moved[0][1] += 1
    assert not row_bag(["a", "b", "c"], rows, ["a", "b", "c"], moved)


# --- text ---------------------------------------------------------------------------------------


@UNTIMED
@given(st.text())
def test_a_text_equals_itself_with_other_line_ends_and_trailing_space(text):
    assert same_text(text, text)
    assert close_text(text, text)
    assert same_text(text, text.replace("\r", "").replace("\n", " \t\r\n") + "\n\n") or "\r" in text


@UNTIMED
@given(st.text("ab1. \n"), st.text("ab1. \n"))
def test_comparing_texts_is_symmetric(first, second):
    assert same_text(first, second).equal is same_text(second, first).equal
    assert close_text(first, second).equal is close_text(second, first).equal


@pytest.mark.parametrize("actual", ["a\nb", "a\nb\n", "a\r\nb\r\n", "a  \nb\t\n\n", "a\nb\n \n"])
def test_space_at_the_ends_of_lines_and_text_does_not_count(actual):
    """F19."""
    assert same_text("a\nb\n", actual)


@pytest.mark.parametrize(
    "actual", ["a b", "ab", "a\n\nb", " a\nb", "\na\nb", "A\nb", "a\nb\nc", ""]
)
def test_other_text_differs(actual):
    assert not same_text("a\nb\n", actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("0.3", "0.30000000000000004"),
        ("x 1.5 y", "x  1.50 y"),
        ("3", "3.0"),
        ("1e3", "1000"),
        ("-.5", "-0.5"),
    ],
)
def test_numbers_in_text_need_only_be_close(expected, actual):
    assert close_text(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("1000000000", "1000000001"),
        ("1000", "1_000"),
        ("1000", "1,000"),
        ("1.0", "nan"),
        ("1.5", "1.6"),
        ("1 2", "1\n2"),
        ("1.5", "1.5 1.6"),
        ("x", "y"),
        ("1e999", "2e999"),
        ("1.5", "1.5" + "0" * 10**6),
        ("007", "7"),
        ("1.0", "\u0661.0"),
    ],
)
def test_text_that_differs_by_more_than_close_numbers_differs(expected, actual):
    assert not close_text(expected, actual)
