"""What a level asks for: how its files are written and what its plans are made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from execgym.envs.data_analysis.families import NUMERIC, Family, Field, Role
from execgym.envs.data_analysis.files import Format, Style
from execgym.envs.data_analysis.plans import (
    Condition,
    Function,
    Key,
    Measure,
    Part,
    Plan,
    Window,
    WindowKind,
)

ROWS = {1: 60, 2: 90, 3: 140, 4: 160, 5: 220}
"""Facts in a filling of each level, about."""

_SIMPLE = (Function.SUM, Function.MEAN, Function.LEAST, Function.MOST)
_FURTHER = (*_SIMPLE, Function.MEDIAN, Function.DEVIATION, Function.PERCENTILE)
_ENCODINGS = ("cp1252", "utf-16", "latin-1", "utf-8-sig")
_PREFIXES = {
    Function.SUM: "total",
    Function.MEAN: "mean",
    Function.MEDIAN: "median",
    Function.LEAST: "min",
    Function.MOST: "max",
    Function.DEVIATION: "sd",
    Function.PERCENTILE: "p90",
}


def draw_style(level: int, generator: random.Random) -> Style:
    """Draw how the files of a level are written."""
    match level:
        case 1:
            return Style()
        case 2:
            kind = generator.choice((Format.CSV, Format.JSON_LINES))
            return Style(facts=kind, separator=generator.choice((";", "\t", ",")))
        case 3:
            facts = generator.choice((Format.CSV, Format.JSON_LINES, Format.SQLITE))
            entities = generator.choice((Format.CSV, Format.JSON_LINES))
            return Style(
                facts=facts,
                entities=Format.SQLITE if facts is Format.SQLITE else entities,
                separator=generator.choice((";", ",")),
            )
    dirt = {name: True for name in generator.sample(_DIRT, 3)}
    missing = dirt.pop("missing", False)
    facts = generator.choice((Format.CSV, Format.CSV, Format.JSON_LINES))
    encoding = "utf-8" if facts is Format.JSON_LINES else generator.choice(_ENCODINGS)
    if level == 5:
        dirt.pop("mixed_times", None)
        dirt["offsets"] = True
    return Style(
        facts=facts,
        entities=Format.CSV,
        separator=";",
        encoding=encoding,
        missing=generator.choice((("n/a", "-", ""), ("?", "unknown", ""))) if missing else ("",),
        **dirt,
    )


_DIRT = ("missing", "decimal_comma", "units", "mixed_times", "spelling", "repeats", "strays")


def draw_plan(level: int, family: Family, generator: random.Random) -> Plan:
    """Draw the plan of a table."""
    return _PLANS[level](family, generator)


def draw_answer_plans(level: int, family: Family, generator: random.Random) -> tuple[Plan, Plan]:
    """Draw the plans of an answer: one row of values, and the group that comes first."""
    joined = level >= 3
    conditions = _conditions(family, generator, joined, min(level, 2))
    derived = level >= 2
    functions = _SIMPLE if level == 1 else _FURTHER
    overall = Plan(
        joined=joined,
        derived=derived,
        conditions=conditions,
        measures=(
            _count(family),
            *_measures(family, generator, functions, min(level + 1, 3), derived=derived),
        ),
    )
    key = _category_key(family, generator, joined, conditions)
    taken = [measure.name for measure in overall.measures]
    number = generator.choice(
        [field for field in family.facts.with_role(Role.NUMBER) if not field.optional]
    )
    function = generator.choice((Function.SUM, Function.MEAN))
    measure = _measure(function, number)
    best = Plan(
        joined=joined,
        derived=derived,
        conditions=conditions,
        keys=(key,),
        measures=(
            Measure(
                name=f"best_{measure.name}" if measure.name in taken else measure.name,
                function=function,
                field=number.name,
                places=measure.places,
            ),
        ),
        top=1,
    )
    return overall, best


def _plan_1(family: Family, generator: random.Random) -> Plan:
    conditions = _conditions(family, generator, False, generator.randrange(2), numeric=False)
    return Plan(
        conditions=conditions,
        keys=(_category_key(family, generator, False, conditions),),
        measures=_with_count(
            family,
            generator,
            _measures(family, generator, _SIMPLE, generator.choice((1, 2)), optional=False),
        ),
    )


def _plan_2(family: Family, generator: random.Random) -> Plan:
    derived = generator.random() < 0.6
    conditions = _conditions(family, generator, False, generator.choice((1, 2)))
    if generator.random() < 0.5:
        key = _category_key(family, generator, False, conditions)
    else:
        key = _time_key(family, generator.choice((Part.MONTH, Part.WEEKDAY, Part.HOUR)))
    return Plan(
        derived=derived,
        conditions=conditions,
        keys=(key,),
        measures=_with_count(
            family, generator, _measures(family, generator, _FURTHER, 2, derived=derived)
        ),
    )


def _plan_3(family: Family, generator: random.Random) -> Plan:
    derived = generator.random() < 0.6
    conditions = _conditions(family, generator, True, generator.choice((1, 2)))
    keys = [Key(name=(field := _entity_category(family, generator)).name, field=field.name)]
    two = generator.random() < 0.4
    if two:
        keys.append(_category_key(family, generator, False, conditions))
    measures = list(_measures(family, generator, _FURTHER, 1, derived=derived))
    if generator.random() < 0.5:
        measures.append(_share(family, generator, conditions, keys))
    measures.append(
        Measure(
            name=f"different_{family.entities.name}",
            function=Function.DISTINCT,
            field=family.facts.fields[1].name,
            whole=True,
        )
    )
    if generator.random() < 0.5:
        number = generator.choice(
            [one for one in family.facts.with_role(Role.NUMBER) if not one.optional]
        )
        first = _measure(Function.SUM, number)
        rest = [one for one in measures if one.name != first.name]
        return Plan(
            joined=True,
            derived=derived,
            conditions=conditions[:1],
            keys=tuple(keys),
            measures=(first, *rest),
            top=2 if not two else 3,
        )
    return Plan(
        joined=True,
        derived=derived,
        conditions=conditions,
        keys=tuple(keys),
        measures=tuple(measures),
        least_rows=generator.choice((0, 5, 8)),
    )


def _plan_4(family: Family, generator: random.Random) -> Plan:
    joined = generator.random() < 0.5
    derived = generator.random() < 0.6
    conditions = _conditions(family, generator, joined, generator.choice((1, 2)))
    keys = [_category_key(family, generator, joined, conditions)]
    if generator.random() < 0.4:
        keys.append(_time_key(family, Part.MONTH))
    measures = list(_measures(family, generator, _FURTHER, 2, derived=derived))
    if generator.random() < 0.5:
        measures.append(_share(family, generator, conditions, keys))
    return Plan(
        joined=joined,
        derived=derived,
        conditions=conditions,
        keys=tuple(keys),
        measures=(_count(family), *measures),
    )


def _plan_5(family: Family, generator: random.Random) -> Plan:
    derived = generator.random() < 0.6
    conditions = _conditions(family, generator, True, 1)
    category = _category_key(family, generator, True, conditions)
    kind = generator.choice(tuple(WindowKind))
    if kind in (WindowKind.CHANGE, WindowKind.RUNNING):
        keys = (category, _time_key(family, Part.MONTH))
    else:
        keys = (_time_key(family, generator.choice((Part.MONTH, Part.WEEKDAY))), category)
    if derived and family.derived.sign == "*":
        measure = Measure(
            name=f"total_{family.derived.name}",
            function=Function.SUM,
            field=family.derived.name,
            places=family.derived.places,
        )
    elif generator.random() < 0.5:
        measure = _count(family)
    else:
        numbers = [one for one in family.facts.with_role(Role.NUMBER) if not one.optional]
        measure = _measure(Function.SUM, generator.choice(numbers))
    whole = kind is WindowKind.RANK or (kind is not WindowKind.SHARE and measure.whole)
    places = 1 if kind is WindowKind.SHARE else measure.places
    window = Window(
        name=f"{_WINDOW_PREFIXES[kind]}_{measure.name}",
        kind=kind,
        measure=measure.name,
        places=0 if whole else places,
        whole=whole,
    )
    further = [
        one
        for one in _measures(family, generator, _FURTHER, 1, derived=derived)
        if one.name != measure.name
    ]
    return Plan(
        joined=True,
        derived=derived,
        conditions=conditions,
        keys=keys,
        measures=(measure, *further),
        window=window,
    )


_WINDOW_PREFIXES = {
    WindowKind.CHANGE: "change_of",
    WindowKind.RUNNING: "running",
    WindowKind.SHARE: "share_of",
    WindowKind.RANK: "rank_of",
}
_PLANS: dict[int, Callable[[Family, random.Random], Plan]] = {
    1: _plan_1,
    2: _plan_2,
    3: _plan_3,
    4: _plan_4,
    5: _plan_5,
}


def _conditions(
    family: Family,
    generator: random.Random,
    joined: bool,
    count: int,
    *,
    numeric: bool = True,
) -> tuple[Condition, ...]:
    categories = list(family.facts.with_role(Role.CATEGORY))
    numbers = list(family.facts.with_role(*NUMERIC))
    if joined:
        numbers += family.entities.with_role(*NUMERIC)
    found: list[Condition] = []
    for index in range(count):
        if numeric and (index == 1 or generator.random() < 0.5):
            field = generator.choice(numbers)
            sign, value = generator.choice((">=", "<")), generator.choice(field.bounds)
            found.append(Condition(field=field.name, sign=sign, value=value))
        else:
            field = generator.choice(categories)
            # Of each category, the first values are the frequent ones.
            sign = generator.choice(("==", "!="))
            found.append(Condition(field=field.name, sign=sign, value=field.values[0]))
    return tuple(found)


def _entity_category(family: Family, generator: random.Random) -> Field:
    return generator.choice(family.entities.with_role(Role.CATEGORY))


def _category_key(
    family: Family, generator: random.Random, joined: bool, conditions: Sequence[Condition]
) -> Key:
    """Draw a category that no condition has made a constant."""
    fixed = [condition.field for condition in conditions if condition.sign == "=="]
    fields = list(family.facts.with_role(Role.CATEGORY))
    if joined:
        fields += family.entities.with_role(Role.CATEGORY)
    field = generator.choice([one for one in fields if one.name not in fixed])
    return Key(name=field.name, field=field.name)


def _time_key(family: Family, part: Part) -> Key:
    return Key(name=str(part), field=family.facts.with_role(Role.TIME)[0].name, part=part)


def _count(family: Family) -> Measure:
    return Measure(name=f"number_of_{family.facts.name}", function=Function.COUNT, whole=True)


def _with_count(
    family: Family, generator: random.Random, measures: tuple[Measure, ...]
) -> tuple[Measure, ...]:
    return (_count(family), *measures) if generator.random() < 0.5 else measures


def _share(
    family: Family,
    generator: random.Random,
    conditions: Sequence[Condition],
    keys: Sequence[Key],
) -> Measure:
    taken = [condition.field for condition in conditions] + [key.field for key in keys]
    free = [one for one in family.facts.with_role(Role.CATEGORY) if one.name not in taken]
    if free:
        field = generator.choice(free)
        value: str | int = field.values[0]
        condition = Condition(field=field.name, sign="==", value=value)
    else:
        field = generator.choice(family.facts.with_role(*NUMERIC))
        condition = Condition(field=field.name, sign=">=", value=field.bounds[0])
    name = f"percent_{field.name}_{condition.value}".replace(" ", "_")
    return Measure(name=name, function=Function.SHARE, condition=condition, places=1)


def _measures(
    family: Family,
    generator: random.Random,
    functions: Sequence[Function],
    count: int,
    *,
    derived: bool = False,
    optional: bool = True,
) -> tuple[Measure, ...]:
    """Draw measures of different fields, the derived number first where there is one."""
    fields = [one for one in family.facts.with_role(*NUMERIC) if optional or not one.optional]
    chosen = generator.sample(fields, count)
    found = [
        # Of values that are all missing, libraries differ about the sum.
        _measure(
            generator.choice([one for one in functions if one is not Function.SUM])
            if field.optional
            else generator.choice(functions),
            field,
        )
        for field in chosen
    ]
    if derived:
        field = Field(
            name=family.derived.name,
            role=Role.NUMBER,
            meaning=family.derived.meaning,
            places=family.derived.places,
        )
        found[0] = _measure(generator.choice(functions), field)
    return tuple(found)


def _measure(function: Function, field: Field) -> Measure:
    kept = function in (Function.SUM, Function.LEAST, Function.MOST)
    whole = kept and field.role is Role.COUNT
    return Measure(
        name=f"{_PREFIXES[function]}_{field.name}",
        function=function,
        field=field.name,
        places=0 if whole else field.places if kept else 2,
        whole=whole,
    )
