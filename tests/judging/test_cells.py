"""The grammar of written values, and when one is right: sections 2C to 2E of the reference."""

import datetime
import math
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execgym.judging.cells import Kind, matches, parse, parse_number

TIME = datetime.datetime(2024, 3, 5, 22, 30, tzinfo=datetime.UTC)
DAY = datetime.date(2024, 3, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        (" 42 ", 42),
        ("+5", 5),
        ("-0.0", 0),
        ("-7", -7),
        ("\N{MINUS SIGN}7", -7),
        ("1e3", 1000),
        ("1E-2", Fraction(1, 100)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("007", 7),
        ("1234567890.123456789", Fraction("1234567890.123456789")),
    ],
)
def test_a_number_of_the_grammar_is_read_exactly(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,234",
        "1.234,5",
        "1_000",
        "50%",
        "$5",
        "5 EUR",
        "0x10",
        "inf",
        "-inf",
        "nan",
        "1e",
        "1e99999",
        "--1",
        "1 2",
        "**73**",
        "true",
        "1/2",
        "\N{FULLWIDTH DIGIT ONE}",
        "9" * 500,
        "1e-401",
        "1 .5",
    ],
)
def test_anything_else_is_no_number(text):
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("places", "expected", "text", "right"),
    [
        # Exactly half way: both halving rules.
        (2, "2.675", "2.67", True),
        (2, "2.675", "2.68", True),
        (0, "2.5", "2", True),
        (0, "2.5", "3", True),
        (0, "-2.5", "-2", True),
        (0, "-2.5", "-3", True),
        # More exact than was asked.
        (2, "0.345", "0.345", True),
        (2, "1/3", "0.3333333333333333", True),
        (2, "1/3", "0.33", True),
        (2, "1/3", "0.34", False),
        (2, "1/3", "0.3", False),
        (2, "1/3", "0.32", False),
        # Binary sums.
        (1, "0.3", repr(0.1 + 0.2), True),
        (2, "1482.2222222222222", "1482.2222222222224", True),
        (2, "1e15", "1000000000000000.1", True),
        # Near misses, and what must never be right.
        (2, "10", "10.01", False),
        (2, "10", "9.99", False),
        (2, "0", "0", True),
        (2, "0", "-0.0", True),
        (2, "0", "0.005", True),
        (2, "0", "0.0051", False),
        (2, "10", "", False),
        (2, "10", "nan", False),
        (2, "10", "inf", False),
        (2, "1", "True", False),
    ],
)
def test_a_number_is_right_to_the_places_that_were_asked(places, expected, text, right):
    assert matches(Kind.NUMBER, places, Fraction(expected), text) is right


@given(
    st.decimals(-(10**8), 10**8, places=5),
    st.integers(0, 3),
    st.sampled_from([ROUND_HALF_EVEN, ROUND_HALF_UP]),
)
def test_both_halving_rules_and_pythons_own_rounding_are_right(value, places, rule):
    expected = Fraction(value)
    rounded = value.quantize(Decimal(1).scaleb(-places), rule)
    assert matches(Kind.NUMBER, places, expected, str(rounded))
    assert matches(Kind.NUMBER, places, expected, str(round(float(value), places)))
    assert matches(Kind.NUMBER, places, expected, f"{float(value):.{places}f}")
    assert matches(Kind.NUMBER, places, expected, repr(float(value)))
    unit = Decimal(1).scaleb(-places)
    assert not matches(Kind.NUMBER, places, expected, str(rounded + 2 * unit))


@pytest.mark.parametrize(
    ("kind", "expected", "text", "right"),
    [
        (Kind.INTEGER, 3, "3", True),
        (Kind.INTEGER, 3, "3.0", True),
        (Kind.INTEGER, 3, "3.00000001", False),
        (Kind.INTEGER, 3, "4", False),
        (Kind.INTEGER, 1, "True", False),
        (Kind.INTEGER, 10**17, "1e+17", True),
        (Kind.INTEGER, 0, "", False),
        (Kind.TEXT, "Größe", "Gro\N{COMBINING DIAERESIS}ße", True),
        (Kind.TEXT, "north", "North", False),
        (Kind.TEXT, "north", " north ", True),
        (Kind.TEXT, "north", "", False),
        (Kind.TEXT, "north", "nan", False),
        (Kind.DATE, DAY, "2024-03-05", True),
        (Kind.DATE, DAY, "2024-03-05T00:00:00", True),
        (Kind.DATE, DAY, "2024-03-05 00:00:00.000000000", True),
        (Kind.DATE, DAY, "2024-03-05 01:00:00", False),
        (Kind.DATE, DAY, "05.03.2024", False),
        (Kind.DATE, DAY, "2024-3-5", False),
        (Kind.DATE, DAY, "20240305", False),
        (Kind.DATE, DAY, "2024-W10-2", False),
        (Kind.DATE, DAY, "2024-02-30", False),
        (Kind.TIME, TIME, "2024-03-05T22:30:00Z", True),
        (Kind.TIME, TIME, "2024-03-05 22:30:00", True),
        (Kind.TIME, TIME, "2024-03-05 22:30", True),
        (Kind.TIME, TIME, "2024-03-05 22:30:00+00:00", True),
        (Kind.TIME, TIME, "2024-03-05T22:30:00.000+0000", True),
        (Kind.TIME, TIME, "2024-03-05T23:30:00+01:00", False),
        (Kind.TIME, TIME, "2024-03-05T22:30:01Z", False),
        (Kind.TIME, TIME, "2024-03-05T22:30:00.5Z", False),
        (Kind.TIME, TIME, "2024-03-05T22:30:00+01:00", False),
        (Kind.TIME, TIME, "1709677800", False),
        (Kind.BOOLEAN, True, "True", True),
        (Kind.BOOLEAN, True, "true", True),
        (Kind.BOOLEAN, False, "FALSE", True),
        (Kind.BOOLEAN, True, "1", False),
        (Kind.BOOLEAN, True, "yes", False),
        (Kind.BOOLEAN, False, "", False),
    ],
)
def test_each_kind_has_its_own_spellings(kind, expected, text, right):
    assert matches(kind, 0, expected, text) is right


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    "text", ["", " ", "NA", "N/A", "nan", "NaN", "NaT", "None", "null", "<NA>"]
)
def test_a_missing_value_is_missing_however_it_is_spelt(kind, text):
    assert matches(kind, 2, None, text)
    assert parse(kind, text) is None


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("text", ["0", "x", "False", "2024-03-05"])
def test_a_value_is_not_a_missing_one(kind, text):
    assert not matches(kind, 2, None, text)


@given(st.text(), st.sampled_from(Kind))
def test_no_text_makes_reading_fail(text, kind):
    parse(kind, text)
    matches(kind, 2, None, text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_of_a_float_is_read_back(value):
    text = repr(value)
    exponent = math.frexp(value)[1]
    if abs(exponent) < 1000:
        assert parse_number(text) == Fraction(text)
