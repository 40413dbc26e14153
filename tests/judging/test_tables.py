"""Written tables and objects against the expected ones."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execgym.judging.cells import Kind
from execgym.judging.tables import (
    LARGEST_FILE,
    Column,
    OutputError,
    TableSchema,
    compare_table,
    compare_values,
)

COLUMNS = (
    Column(name="region", kind=Kind.TEXT),
    Column(name="orders", kind=Kind.INTEGER),
    Column(name="mean", kind=Kind.NUMBER, places=2),
)
SCHEMA = TableSchema(columns=COLUMNS, keys=("region",))
ORDERED = TableSchema(columns=COLUMNS, keys=("region",), ordered=True)
EXPECTED = [("north", 3, Fraction(5, 2)), ("south", 12, None)]
GOOD = "region,orders,mean\nnorth,3,2.5\nsouth,12,\n"


def compare(text, schema=SCHEMA, expected=EXPECTED):
    data = text if isinstance(text, bytes) else text.encode()
    return compare_table(schema, expected, data)


def accepted(text, schema=SCHEMA, expected=EXPECTED):
    try:
        comparison = compare(text, schema, expected)
    except OutputError:
        return False
    assert (comparison.reason == "") == (comparison.right == comparison.cells)
    return not comparison.reason


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        "\ufeff" + GOOD,
        "mean,region,orders\n,south,12\n2.50,north,3.0\n",
        "region, orders ,mean\n north ,3,2.499999999999999\nsouth,12,NaN\n",
        '"region","orders","mean"\n"north","3","2.5"\n"south","12",""\n',
        ",region,orders,mean\n0,north,3,2.5\n1,south,12,\n",
        "Unnamed: 0,region,orders,mean\n0,north,3,2.5\n1,south,12,<NA>\n",
        "region,orders,mean\n\nnorth,3,2.5\nsouth,12,nan\n\n",
    ],
)
def test_a_right_table_passes_however_it_is_written(text):
    assert accepted(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "region,orders,mean\n",
        "region,orders,mean\nnorth,3,2.5\n",
        GOOD + "east,1,1\n",
        GOOD + "north,3,2.5\n",
        GOOD.replace("north,3", "north,4"),
        GOOD.replace("12,", "12,0"),
        GOOD.replace("2.5", ""),
        "region,orders,mean\n,,\n,,\n",
        "region,orders,mean\nnan,nan,nan\nnan,nan,nan\n",
        "region,orders\nnorth,3\nsouth,12\n",
        "region,orders,mean,extra\nnorth,3,2.5,1\nsouth,12,,1\n",
        "region,orders,mean,mean\nnorth,3,2.5,2.5\nsouth,12,,\n",
        "Region,orders,mean\nnorth,3,2.5\nsouth,12,\n",
        "north,3,2.5\nsouth,12,\n",
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace("north,3,2.5", "north,3"),
        GOOD.replace("north", "no\0rth"),
        GOOD.encode("utf-16"),
        b"\xff" + GOOD.encode(),
        '"region,orders,mean\nnorth,3,2.5\n',
        "region,orders,mean\nsouth,3,2.5\nnorth,12,\n",
        "region,orders,mean\n" + "x,1,1\n" * 60_000,
        "x" * (LARGEST_FILE + 1),
        "region,orders,mean\n" + "x" * 200_000 + ",3,2.5\nsouth,12,\n",
    ],
)
def test_a_wrong_table_fails(text):
    assert not accepted(text)


def test_rows_may_come_in_any_order_unless_one_is_asked():
    turned = "region,orders,mean\nsouth,12,\nnorth,3,2.5\n"
    assert accepted(turned)
    assert not accepted(turned, ORDERED)
    assert accepted(GOOD, ORDERED)
    assert not accepted(GOOD + "north,3,2.5\n", ORDERED)
    assert not accepted("region,orders,mean\nnorth,3,2.5\n", ORDERED)


def test_cells_are_counted_one_by_one():
    comparison = compare("region,orders,mean\nnorth,4,2.5\nwest,12,\n")
    assert (comparison.right, comparison.cells) == (2, 9)
    assert 0 < comparison.share < 1


def test_a_reason_holds_no_expected_value():
    comparison = compare("region,orders,mean\nnorth,4,7\nsouth,12,7\n")
    assert comparison.reason == "wrong values in 'orders', 'mean'"


def test_a_key_may_be_missing_or_a_whole_number_in_any_spelling():
    schema = TableSchema(columns=COLUMNS, keys=("orders",))
    assert accepted("region,orders,mean\nnorth,3.0,2.5\nsouth,12,NA\n", schema)
    missing = [(None, 3, Fraction(5, 2))]
    assert accepted("region,orders,mean\nnan,3,2.5\n", SCHEMA, missing)
    assert not accepted("region,orders,mean\nx,3,2.5\n", SCHEMA, missing)


@given(st.binary(max_size=200))
def test_no_bytes_make_comparing_fail_in_another_way(data):
    assert not accepted(data)


VALUES = (
    Column(name="total", kind=Kind.NUMBER, places=2),
    Column(name="best", kind=Kind.TEXT),
    Column(name="count", kind=Kind.INTEGER),
    Column(name="rising", kind=Kind.BOOLEAN),
    Column(name="gap", kind=Kind.NUMBER, places=1),
)
WANTED = {"total": Fraction("12.345"), "best": "north", "count": 7, "rising": True, "gap": None}
RIGHT = {"total": 12.35, "best": "north", "count": 7, "rising": True, "gap": None}


def values_accepted(data):
    try:
        return not compare_values(VALUES, WANTED, data).reason
    except OutputError:
        return False


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"total": 12.34},
        {"total": 12.345},
        {"total": "12.35"},
        {"count": 7.0},
        {"count": "7"},
        {"gap": math.nan},
        {"gap": "NA"},
        {"gap": ""},
        {"rising": "true"},
        {"best": " north "},
    ],
)
def test_right_values_pass_however_they_are_written(change):
    assert values_accepted(json.dumps({**RIGHT, **change}).encode())
    assert values_accepted(("\ufeff " + json.dumps({**RIGHT, **change}, indent=1)).encode())


@pytest.mark.parametrize(
    "change",
    [
        {"total": 12.36},
        {"total": None},
        {"total": math.nan},
        {"total": math.inf},
        {"total": [12.35]},
        {"total": {"value": 12.35}},
        {"total": True},
        {"total": "12,35"},
        {"total": "12.35 EUR"},
        {"best": "North"},
        {"best": 1},
        {"best": None},
        {"count": 8},
        {"count": True},
        {"count": 7.5},
        {"rising": 1},
        {"rising": False},
        {"rising": "yes"},
        {"gap": 0},
        {"gap": False},
        {"more": 1},
    ],
)
def test_wrong_values_fail(change):
    assert not values_accepted(json.dumps({**RIGHT, **change}).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"0",
        b"[]",
        b"{}",
        b'""',
        json.dumps(RIGHT).encode().replace(b"{", b'{"count": 7, '),
        b"[" * 100_000,
        b'{"total": ' + b"9" * 100_000 + b"}",
        json.dumps(RIGHT).encode("utf-16"),
        json.dumps(RIGHT).encode() + b" {}",
    ],
)
def test_what_is_no_such_object_fails(data):
    assert not values_accepted(data)


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": (), "keys": ()},
        {"columns": COLUMNS, "keys": ()},
        {"columns": COLUMNS, "keys": ("mean",)},
        {"columns": COLUMNS, "keys": ("other",)},
        {"columns": COLUMNS + COLUMNS[:1], "keys": ("region",)},
    ],
)
def test_a_schema_without_keys_or_with_twins_is_refused(fields):
    with pytest.raises(ValueError, match=r"schema|keys"):
        TableSchema(**fields)
