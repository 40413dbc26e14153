"""Reference programs: the pandas source that a plan and a style of files call for."""

from __future__ import annotations

from collections.abc import Sequence

from execgym.envs.data_analysis.families import NUMERIC, Family, Role, Shape
from execgym.envs.data_analysis.files import Format, Style, entities_path, facts_path
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

RESULT_FILE = "output/result.csv"
"""Where a program writes the table that it is asked for."""


def program_source(family: Family, style: Style, plan: Plan) -> str:
    """Return the program that writes the table of a plan."""
    lines = [
        *_loading(family, style, _used(family, plan), joined=plan.joined),
        *_table(family, plan, "result"),
    ]
    return _source([*lines, f'result.to_csv("{RESULT_FILE}", index=False)'])


def cleaning_source(family: Family, style: Style) -> str:
    """Return the program that writes the clean table of the facts."""
    fields = frozenset(field.name for field in family.facts.fields)
    return _source(
        [
            *_loading(family, style, fields, joined=False),
            f'{family.facts.name}.to_csv("{RESULT_FILE}", index=False)',
        ]
    )


def answer_source(family: Family, style: Style, overall: Plan, best: Plan) -> str:
    """Return a program that prints the named values of an answer as JSON."""
    key, measure = best.keys[0].name, best.measures[0].name
    used = _used(family, overall) | _used(family, best)
    return _source(
        [
            *_loading(family, style, used, joined=overall.joined),
            *_table(family, overall, "overall"),
            *_table(family, best, "best"),
            'answer = json.loads(overall.to_json(orient="records"))[0]',
            f'answer["{key}"] = best["{key}"].iloc[0]',
            f'answer["{measure}"] = float(best["{measure}"].iloc[0])',
            "print(json.dumps(answer))",
        ]
    )


def _source(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    wanted = {
        "datetime": "datetime.datetime" in text,
        "json": "json." in text,
        "sqlite3": "sqlite3." in text,
    }
    imports = [f"import {name}" for name, used in wanted.items() if used]
    return "\n".join([*imports, "import pandas as pd", "", text, ""]).lstrip("\n")


# ---- reading ----------------------------------------------------------------------------------


def _used(family: Family, plan: Plan) -> frozenset[str]:
    """Return the names of the fields that a plan looks at."""
    conditions = [*plan.conditions, *(one.condition for one in plan.measures if one.condition)]
    used = {condition.field for condition in conditions}
    used |= {key.field for key in plan.keys} | {measure.field for measure in plan.measures}
    if plan.derived:
        used |= {family.derived.left, family.derived.right}
    return frozenset(used)


def _loading(family: Family, style: Style, used: frozenset[str], *, joined: bool) -> list[str]:
    """Return the lines that read the tables and clean the fields that are used."""
    facts, entities = family.facts, family.entities
    reading = _reading(facts, facts_path(family, style), style.facts, style)
    if style.strays:
        reading.append(f'{facts.name} = {facts.name}.dropna(subset=["{facts.key}"])')
    if style.repeats:
        reading.append(f'{facts.name} = {facts.name}.drop_duplicates("{facts.key}", keep="last")')
    reading += _converting(facts, style, used)
    if joined and style.entities is not None:
        reading += _reading(entities, entities_path(family, style), style.entities, style)
        reading += _converting(entities, style, used)
    functions: list[str] = []
    if any("number_of" in line for line in reading):
        functions += _number_function(family, style)
    if any("time_of" in line for line in reading):
        functions += [
            "def time_of(text):",
            '    form = "%d.%m.%Y %H:%M:%S" if "." in text else "%Y-%m-%d %H:%M:%S"',
            "    return datetime.datetime.strptime(text, form)",
            "",
        ]
    return [*functions, *reading]


def _number_function(family: Family, style: Style) -> list[str]:
    units = sorted({field.unit for field in family.facts.fields if field.unit})
    tokens = sorted({token for token in style.missing if token} | {"", "None", "nan"})
    lines = [
        "def number_of(value):",
        "    text = str(value)",
        f"    if text in {_quoted(tokens)}:",
        '        return float("nan")',
    ]
    if style.units:
        lines += [f"    for unit in {_quoted(units)}:", "        text = text.removesuffix(unit)"]
    if style.decimal_comma:
        lines.append('    text = text.replace(".", "").replace(",", ".")')
    return [*lines, "    return float(text)", ""]


def _quoted(value: object) -> str:
    return repr(value).replace("'", '"')


def _reading(shape: Shape, path: str, kind: Format, style: Style) -> list[str]:
    name = shape.name
    match kind:
        case Format.CSV:
            options = ""
            if style.separator != ",":
                options += f", sep={_quoted(style.separator)}"
            if style.encoding != "utf-8":
                options += f', encoding="{style.encoding}"'
            if style.numbers_are_text:
                options += ", dtype=str"
            return [f'{name} = pd.read_csv("{path}"{options})']
        case Format.JSON_LINES:
            return [
                f'with open("{path}", encoding="{style.encoding}") as file:',
                f"    {name} = pd.DataFrame([json.loads(line) for line in file])",
            ]
        case Format.SQLITE:
            query = f'"SELECT * FROM {name}"'  # noqa: S608 - a name of ours
            return [f'{name} = pd.read_sql_query({query}, sqlite3.connect("{path}"))']


def _converting(shape: Shape, style: Style, used: frozenset[str]) -> list[str]:
    lines = []
    for field in shape.fields:
        column = f'{shape.name}["{field.name}"]'
        if field.name not in used:
            continue
        if field.role in NUMERIC and style.numbers_are_text:
            lines.append(f"{column} = {column}.map(number_of)")
        elif field.role is Role.CATEGORY and style.spelling:
            lines.append(f"{column} = {column}.str.strip().str.lower()")
        elif field.role is Role.TIME:
            inner = f"{column}.map(time_of)" if style.mixed_times else column
            options = ', utc=True, format="ISO8601"' if style.offsets else ""
            lines.append(f"{column} = pd.to_datetime({inner}{options})")
    return lines


# ---- the table --------------------------------------------------------------------------------


def _table(family: Family, plan: Plan, name: str) -> list[str]:
    """Return the lines that make the table of a plan, called `name`, from what was read."""
    rows = family.facts.name
    lines = [f"rows = {rows}"]
    if plan.joined:
        reference = family.facts.fields[1].name
        lines = [f'rows = {rows}.merge({family.entities.name}, on="{reference}")']
    lines += [f"rows = rows[{_mask(condition)}]" for condition in plan.conditions]
    if plan.derived:
        derived = family.derived
        left, right = f'rows["{derived.left}"]', f'rows["{derived.right}"]'
        lines.append(f'rows["{derived.name}"] = {left} {derived.sign} {right}')
    lines += [f'rows["{key.name}"] = {_key(key)}' for key in plan.keys if key.part is not None]
    lines += [
        f'rows["{one.name}"] = 100.0 * ({_mask(one.condition)})'
        for one in plan.measures
        if one.condition is not None
    ]
    aggregations = [f"{one.name}=({_aggregation(family, one)})," for one in plan.measures]
    keys = [key.name for key in plan.keys]
    if not keys:
        lines.append('rows["everything"] = 1')
        keys = ["everything"]
    least = plan.least_rows
    counted = [f'rows_in_group=("{family.facts.key}", "size"),'] if least else []
    lines += [
        f"{name} = rows.groupby({_quoted(keys)}, as_index=False).agg(",
        *(f"    {line}" for line in [*aggregations, *counted]),
        ")",
    ]
    if not plan.keys:
        lines.append(f'{name} = {name}.drop(columns="everything")')
    if least:
        lines.append(f'{name} = {name}[{name}["rows_in_group"] >= {least}]')
        lines.append(f'{name} = {name}.drop(columns="rows_in_group")')
    if plan.window is not None:
        lines += _window(plan, plan.window, name)
    if plan.top:
        order = f'"{plan.measures[0].name}", ascending=False'
        lines.append(f"{name} = {name}.sort_values({order}).head({plan.top})")
    return lines


def _mask(condition: Condition) -> str:
    value = f'"{condition.value}"' if isinstance(condition.value, str) else str(condition.value)
    return f'rows["{condition.field}"] {condition.sign} {value}'


def _key(key: Key) -> str:
    time = f'rows["{key.field}"].dt'
    return {
        Part.DAY: f'{time}.strftime("%Y-%m-%d")',
        Part.MONTH: f'{time}.strftime("%Y-%m")',
        Part.WEEKDAY: f"{time}.day_name()",
        Part.HOUR: f"{time}.hour",
    }[key.part or Part.MONTH]


_AGGREGATIONS = {
    Function.SUM: '"sum"',
    Function.MEAN: '"mean"',
    Function.MEDIAN: '"median"',
    Function.LEAST: '"min"',
    Function.MOST: '"max"',
    Function.DISTINCT: '"nunique"',
    Function.DEVIATION: '"std"',
    Function.PERCENTILE: "lambda values: values.quantile(0.9)",
}


def _aggregation(family: Family, measure: Measure) -> str:
    if measure.function is Function.COUNT:
        return f'"{family.facts.key}", "size"'
    if measure.function is Function.SHARE:
        return f'"{measure.name}", "mean"'
    return f'"{measure.field}", {_AGGREGATIONS[measure.function]}'


def _window(plan: Plan, window: Window, name: str) -> list[str]:
    beside = [key.name for key in plan.keys[:-1]]
    measure = f'["{window.measure}"]'
    groups = f"{name}.groupby({_quoted(beside)}){measure}"
    whole = groups if beside else f"{name}{measure}"
    total = f'{groups}.transform("sum")' if beside else f"{whole}.sum()"
    value = {
        WindowKind.CHANGE: f"{whole}.diff()",
        WindowKind.RUNNING: f"{whole}.cumsum()",
        WindowKind.SHARE: f"100 * {name}{measure} / {total}",
        WindowKind.RANK: f'{whole}.rank(method="min", ascending=False)',
    }[window.kind]
    return [f'{name}["{window.name}"] = {value}']
