"""What a family of tables is: a table of facts and one of the entities that they are about.

Values are exact: whole numbers, decimals of fixed places, texts, aware times in UTC, None where one
is missing. A family says how a single entity and a single fact are drawn, with effects of the
entity, the season and chance; everything that families share (ids, how facts spread over entities
and over time, gaps) is here.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import random
from collections.abc import Callable, Mapping
from decimal import Decimal

Value = int | Decimal | str | datetime.datetime | None
Record = dict[str, Value]

_START = datetime.datetime(2023, 1, 1, tzinfo=datetime.UTC)
_YEAR_DAYS = 365
_MISSING_SHARE = 0.08
_ORPHAN_SHARE = 0.06


class Role(enum.StrEnum):
    """What a field is good for in a question."""

    ID = "id"
    REFERENCE = "reference"
    CATEGORY = "category"
    COUNT = "count"
    NUMBER = "number"
    TIME = "time"


NUMERIC = (Role.COUNT, Role.NUMBER)
"""Roles of fields that can be summed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a table.

    Attributes:
        name: Its name.
        role: What it is good for.
        meaning: What it holds, for a prompt.
        places: Decimal places of a number.
        unit: The unit that a number may carry in a dirty file.
        values: The values that a category takes, in lower case.
        optional: Whether some of its values are missing.
        bounds: Thresholds that split its values into parts of some size.
    """

    name: str
    role: Role
    meaning: str
    places: int = 0
    unit: str = ""
    values: tuple[str, ...] = ()
    optional: bool = False
    bounds: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A table without its rows.

    Attributes:
        name: Its name, which is the plural of what a row is.
        row: What one row is.
        fields: Its fields. The first one is its id.
    """

    name: str
    row: str
    fields: tuple[Field, ...]

    def with_role(self, *roles: Role) -> tuple[Field, ...]:
        """Return the fields of some roles."""
        return tuple(field for field in self.fields if field.role in roles)

    @property
    def key(self) -> str:
        """The name of its id."""
        return self.fields[0].name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A number that follows from two fields of a fact.

    Attributes:
        name: Its name.
        meaning: What it is.
        left: A numeric field.
        sign: `"*"` or `"-"`.
        right: A numeric field.
        places: Decimal places that its values have at most.
    """

    name: str
    meaning: str
    left: str
    sign: str
    right: str
    places: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Tables that belong together.

    Attributes:
        name: Its name.
        facts: The table of facts. Its second field refers to an entity.
        entities: The table of entities.
        derived: A number that can be derived from a fact.
        entity_prefix: What ids of entities begin with.
        draw_entity: Draws the values of an entity, without its id.
        draw_fact: Draws the values of a fact of an entity at a time, without ids and time.
    """

    name: str
    facts: Shape
    entities: Shape
    derived: Derived
    entity_prefix: str
    draw_entity: Callable[[random.Random], Record]
    draw_fact: Callable[[random.Random, Mapping[str, Value], float], Record]


@dataclasses.dataclass(frozen=True, slots=True)
class DataSet:
    """A filling of a family's tables.

    Attributes:
        facts: The facts, in the order of their ids.
        entities: The entities, in the order of their ids.
    """

    facts: tuple[Record, ...]
    entities: tuple[Record, ...]


def draw_data_set(family: Family, generator: random.Random, *, rows: int, orphans: bool) -> DataSet:
    """Draw a filling.

    Args:
        family: The family.
        generator: The only source of chance.
        rows: How many facts there are, about.
        orphans: Whether some facts refer to an entity that is not listed.
    """
    count = max(6, rows // 12)
    numbers = sorted(generator.sample(range(100, 1000), count + 2))
    ids = [f"{family.entity_prefix}{number}" for number in numbers]
    entities = [
        {family.entities.key: ids[index], **family.draw_entity(generator)}
        for index in range(count + 2)
    ]
    # Some entities have many facts and some have none.
    weights = [generator.paretovariate(1.2) for _ in range(count)]
    size = rows + generator.randrange(rows // 4 + 1)
    fact_id = generator.randrange(1000, 5000)
    times = sorted(_draw_time(generator) for _ in range(size))
    facts = []
    for when in times:
        fact_id += generator.randrange(1, 4)
        entity = generator.choices(entities[:count], weights)[0]
        season = (when - _START).days / _YEAR_DAYS
        facts.append(_fact(family, generator, fact_id, entity, when, season))
    listed = entities
    if orphans:
        unlisted = {
            entities[index][family.entities.key]
            for index in generator.sample(range(count), max(1, round(count * _ORPHAN_SHARE)))
        }
        listed = [one for one in entities if one[family.entities.key] not in unlisted]
    return DataSet(tuple(facts), tuple(listed))


def _fact(
    family: Family,
    generator: random.Random,
    fact_id: int,
    entity: Mapping[str, Value],
    when: datetime.datetime,
    season: float,
) -> Record:
    drawn = family.draw_fact(generator, entity, season)
    reference = family.facts.fields[1].name
    record: Record = {}
    for field in family.facts.fields:
        match field.role:
            case Role.ID:
                record[field.name] = fact_id
            case Role.REFERENCE:
                record[field.name] = entity[reference]
            case Role.TIME:
                record[field.name] = when
            case _:
                missing = field.optional and generator.random() < _MISSING_SHARE
                record[field.name] = None if missing else drawn[field.name]
    return record


def _draw_time(generator: random.Random) -> datetime.datetime:
    """Draw a time in 2023: more by day than by night, and one in ten close to midnight."""
    day = generator.randrange(_YEAR_DAYS)
    if generator.random() < 0.1:
        second = generator.choice((0, 86_399)) + generator.randrange(-7200, 7200)
    else:
        second = int(generator.triangular(0, 86_399, 50_000))
    return _START + datetime.timedelta(days=day, seconds=second % 86_400)


def decimal_of(value: float, places: int) -> Decimal:
    """Return a float as a decimal of fixed places."""
    return Decimal(f"{value:.{places}f}")
