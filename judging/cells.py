"""Single values that a candidate has written as text, against the expected ones.

The grammar of each kind is fixed here, and prompts quote `GRAMMAR`. White space around a value
never counts. Nothing is guessed: what the grammar does not have is wrong.
"""

from __future__ import annotations

import datetime
import enum
import re
import unicodedata
from fractions import Fraction

Value = bool | int | Fraction | str | datetime.date | datetime.datetime | None
"""An expected value. None is a missing one; a time is aware and in UTC."""


class Kind(enum.StrEnum):
    """What a column or a named value holds."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    TIME = "time"
    BOOLEAN = "boolean"


GRAMMAR = {
    Kind.INTEGER: "a whole number such as 42 (42.0 is the same)",
    Kind.NUMBER: "a number such as -1234.5 or 1.2e3, without thousands separators or units",
    Kind.TEXT: "text",
    Kind.DATE: "a date as YYYY-MM-DD",
    Kind.TIME: "a time in UTC as YYYY-MM-DDTHH:MM:SSZ",
    Kind.BOOLEAN: "true or false",
}
"""How a value of each kind is written, in words for a prompt."""

MISSING = frozenset({"", "na", "n/a", "nan", "nat", "none", "null", "<na>"})
"""The spellings of a missing value, in lower case."""

_LONGEST_NUMBER = 400
_LARGEST_EXPONENT = 400
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,4}))?\Z")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:\.0+)?(?: ?Z|[+-]00(?::?00)?)?)?\Z"
)
# What binary floating point may make of an exact value that stands half way between two roundings:
# parts of the value, as sums leave, and parts of the last place, as differences do.
_VALUE_ALLOWANCE = Fraction(1, 10**12)
_PLACE_ALLOWANCE = Fraction(1, 10**6)
_HALF = Fraction(1, 2)


def matches(kind: Kind, places: int, expected: Value, text: str) -> bool:
    """Return whether a written value is the expected one.

    A number is right where it is the exact value, that value rounded to `places` by either halving
    rule, or anything as close: `|written - expected| <= half a unit of the last place`.

    Args:
        kind: What is expected.
        places: Decimal places of a number.
        expected: The exact value.
        text: What was written.
    """
    text = text.strip()
    if expected is None:
        return text.lower() in MISSING
    if kind is Kind.TEXT:
        return _normal(text) == _normal(str(expected))
    value = parse(kind, text)
    if value is None:
        return False
    if kind is not Kind.NUMBER:
        return value == expected
    unit = Fraction(1, 10**places)
    exact = _fraction(expected)
    allowance = unit * (_HALF + _PLACE_ALLOWANCE) + abs(exact) * _VALUE_ALLOWANCE
    return abs(_fraction(value) - exact) <= allowance


def parse(kind: Kind, text: str) -> Value:
    """Return the value that a text stands for, or None where it is missing or no such value."""
    text = text.strip()
    match kind:
        case Kind.INTEGER:
            number = parse_number(text)
            return int(number) if number is not None and number.denominator == 1 else None
        case Kind.NUMBER:
            return parse_number(text)
        case Kind.TEXT:
            return None if text.lower() in MISSING else _normal(text)
        case Kind.DATE:
            moment = _parse_time(text)
            midnight = moment is not None and moment.time() == datetime.time()
            return moment.date() if moment is not None and midnight else None
        case Kind.TIME:
            return _parse_time(text)
        case Kind.BOOLEAN:
            return {"true": True, "false": False}.get(text.lower())


def parse_number(text: str) -> Fraction | None:
    """Return the number that a text stands for, or None.

    Digits with an optional sign, decimal point and exponent; U+2212 is a minus sign. No separators,
    no units, no infinities.
    """
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    match = _NUMBER.match(text) if len(text) <= _LONGEST_NUMBER else None
    if match is None or abs(int(match[1] or 0)) > _LARGEST_EXPONENT:
        return None
    return Fraction(text)


def _fraction(value: Value) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise TypeError(f"a number is an int or a Fraction, not {value!r}")
    return Fraction(value)


def _parse_time(text: str) -> datetime.datetime | None:
    match = _TIME.match(text)
    if match is None:
        return None
    day, minutes, seconds = match.groups()
    try:
        return datetime.datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ''}Z")
    except ValueError:
        return None


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())
