"""Tables as files: CSV, JSON lines and SQLite, clean or dirty in ways whose undoing is stated."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import random
import sqlite3
from collections.abc import Sequence
from decimal import Decimal

from execgym.envs.data_analysis.families import DataSet, Family, Field, Record, Role, Shape, Value

_REPEATED_SHARE = 0.1
_STRAY_LINES = 3
_ODD_SHARE = 0.4
_OFFSETS = (0, 60, 120, -300, -480, 330)


class Format(enum.StrEnum):
    """What kind of file a table is in."""

    CSV = "csv"
    JSON_LINES = "jsonl"
    SQLITE = "sqlite"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a family's tables are written, the same for every filling of a task.

    Attributes:
        facts: File format of the facts.
        entities: File format of the entities, or None where there is no file of them. SQLite holds
            both tables or none.
        separator: What stands between the cells of a CSV file.
        encoding: Encoding of text files.
        missing: Spellings of a missing value in text files.
        decimal_comma: Whether numbers in text files have a decimal comma and dots between
            thousands.
        units: Whether some numbers in text files carry their unit.
        mixed_times: Whether some times are written with the day first.
        offsets: Whether times are written with offsets of their own.
        spelling: Whether categories come in any case and with spaces around.
        repeats: Whether facts stand in the file more than once, the last one being valid.
        strays: Whether there are lines that are no facts, without an id.
    """

    facts: Format = Format.CSV
    entities: Format | None = None
    separator: str = ","
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ("",)
    decimal_comma: bool = False
    units: bool = False
    mixed_times: bool = False
    offsets: bool = False
    spelling: bool = False
    repeats: bool = False
    strays: bool = False

    @property
    def numbers_are_text(self) -> bool:
        """Whether a number needs more than the usual reading."""
        return self.decimal_comma or self.units or self.missing != ("",)


def facts_path(family: Family, style: Style) -> str:
    """Return the path of the file of the facts."""
    name = family.name if style.facts is Format.SQLITE else family.facts.name
    return f"input/{name}.{style.facts}"


def entities_path(family: Family, style: Style) -> str:
    """Return the path of the file of the entities."""
    name = family.name if style.entities is Format.SQLITE else family.entities.name
    return f"input/{name}.{style.entities}"


def write_files(
    family: Family, style: Style, data: DataSet, generator: random.Random
) -> dict[str, bytes]:
    """Return the files of a filling, by path.

    Args:
        family: The family.
        style: How to write.
        data: The filling.
        generator: Decides where the dirt goes.
    """
    facts = [_raw(field_values, family.facts, style, generator) for field_values in data.facts]
    if style.repeats:
        facts = _with_repeats(facts, data.facts, family.facts, style, generator)
    if style.strays:
        facts = _with_strays(facts, family.facts, style, generator)
    entities = [_raw(one, family.entities, style, generator) for one in data.entities]
    if style.facts is Format.SQLITE:
        tables = [(family.facts, facts)]
        if style.entities is not None:
            tables.append((family.entities, entities))
        return {facts_path(family, style): _sqlite(tables)}
    files = {facts_path(family, style): _text(family.facts, facts, style.facts, style)}
    if style.entities is not None:
        text = _text(family.entities, entities, style.entities, style)
        files[entities_path(family, style)] = text
    return files


Raw = dict[str, str | int | float | None]


def _raw(record: Record, shape: Shape, style: Style, generator: random.Random) -> Raw:
    return {
        field.name: _written(field, record[field.name], style, generator) for field in shape.fields
    }


def _written(
    field: Field, value: Value, style: Style, generator: random.Random
) -> str | int | float | None:
    match value:
        case None:
            return generator.choice(style.missing) or None
        case datetime.datetime():
            return _written_time(value, style, generator)
        case str() if field.role is Role.CATEGORY and style.spelling:
            if generator.random() < _ODD_SHARE:
                return generator.choice((value.upper(), value.title(), f" {value}", f"{value} "))
            return value
        case str():
            return value
        case int() if field.role is Role.ID or not style.numbers_are_text:
            return value
        case Decimal() if not style.numbers_are_text:
            return float(value)
    text = f"{value:,}"
    if style.decimal_comma:
        text = text.translate(str.maketrans(",.", ".,"))
    else:
        text = text.replace(",", "")
    if style.units and field.unit and generator.random() < _ODD_SHARE:
        text = f"{text} {field.unit}"
    return text


def _written_time(value: datetime.datetime, style: Style, generator: random.Random) -> str:
    if style.offsets:
        offset = datetime.timedelta(minutes=generator.choice(_OFFSETS))
        return value.astimezone(datetime.timezone(offset)).isoformat()
    if style.mixed_times:
        odd = generator.random() < _ODD_SHARE
        return value.strftime("%d.%m.%Y %H:%M:%S" if odd else "%Y-%m-%d %H:%M:%S")
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def _with_repeats(
    facts: list[Raw],
    records: Sequence[Record],
    shape: Shape,
    style: Style,
    generator: random.Random,
) -> list[Raw]:
    """Put an earlier and other version of some facts somewhere before them."""
    result = list(facts)
    count = max(2, round(len(facts) * _REPEATED_SHARE))
    chosen = generator.sample(range(len(facts)), count)
    for index in sorted(chosen, reverse=True):
        old = dict(records[index])
        other = generator.choice(records)
        for field in shape.with_role(Role.CATEGORY, Role.COUNT, Role.NUMBER):
            old[field.name] = other[field.name]
        result.insert(generator.randrange(index + 1), _raw(old, shape, style, generator))
    return result


def _with_strays(
    facts: list[Raw], shape: Shape, style: Style, generator: random.Random
) -> list[Raw]:
    """Put lines without an id in between, as sums and remarks leave them."""
    result = list(facts)
    for _ in range(_STRAY_LINES):
        stray = dict(generator.choice(facts))
        stray[shape.key] = None
        result.insert(generator.randrange(len(result) + 1), stray)
    return result


def _text(shape: Shape, rows: Sequence[Raw], kind: Format, style: Style) -> bytes:
    names = [field.name for field in shape.fields]
    if kind is Format.JSON_LINES:
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    else:
        lines = [
            style.separator.join(cells)
            for cells in (
                names,
                *(["" if row[name] is None else str(row[name]) for name in names] for row in rows),
            )
        ]
    return "".join(f"{line}\n" for line in lines).encode(style.encoding)


def _sqlite(tables: Sequence[tuple[Shape, Sequence[Raw]]]) -> bytes:
    kinds = {Role.ID: "", Role.COUNT: " INTEGER", Role.NUMBER: " REAL"}
    connection = sqlite3.connect(":memory:")
    try:
        for shape, rows in tables:
            names = [field.name for field in shape.fields]
            columns = ", ".join(
                f"{field.name}{kinds.get(field.role, ' TEXT')}" for field in shape.fields
            )
            places = ", ".join("?" for _ in names)
            connection.execute(f"CREATE TABLE {shape.name} ({columns})")
            connection.executemany(
                f"INSERT INTO {shape.name} VALUES ({places})",  # noqa: S608 - names of ours
                [[row[name] for name in names] for row in rows],
            )
        connection.commit()
        return connection.serialize()
    finally:
        connection.close()
