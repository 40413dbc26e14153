"""Prompts: what the files hold, which rules they follow, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from execgym.envs.data_analysis.families import Family, Field, Role, Shape
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
from execgym.envs.data_analysis.reference import RESULT_FILE
from execgym.judging.cells import GRAMMAR, Kind
from execgym.judging.tables import Column

_SHOWN_LINES = 4
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_SIGNS = {"==": "is", "!=": "is not", ">=": "is at least", "<": "is less than"}


def program_prompt(family: Family, style: Style, plan: Plan, files: Mapping[str, bytes]) -> str:
    """Return the prompt of a program that writes a table."""
    return "\n".join(
        [
            *_files(family, style, files, plan.joined),
            "",
            f"Write the Python program analysis.py, which reads these files and writes the CSV "
            f"file {RESULT_FILE}.",
            *_selection(family, plan),
            *_grouping(family, plan),
            "Columns:",
            *_columns(family, plan),
            *_RESULT_RULES,
            *_PROGRAM_RULES,
        ]
    )


def answer_prompt(
    family: Family, style: Style, overall: Plan, best: Plan, files: Mapping[str, bytes]
) -> str:
    """Return the prompt of named values."""
    key, measure = best.keys[0], best.measures[0]
    what = _measure_words(family, measure)
    return "\n".join(
        [
            *_files(family, style, files, overall.joined),
            "",
            *_selection(family, overall),
            "Answer with one JSON object that has exactly these names:",
            *(_line(one.column, _measure_words(family, one)) for one in overall.measures),
            _line(key.column, f"the {key.field} for which {what} is the largest"),
            _line(measure.column, f"{what}, of that {key.field}"),
            "A missing value is in no sum, mean or other statistic; its row counts as a row.",
            "The object is judged as it is; a file /workspace/answer.json may hold it.",
        ]
    )


def cleaning_prompt(family: Family, style: Style, files: Mapping[str, bytes]) -> str:
    """Return the prompt of a program that writes a clean table."""
    facts = family.facts
    return "\n".join(
        [
            *_files(family, style, files, joined=False),
            "",
            "Write the Python program analysis.py, which reads this file and writes a clean "
            f"version of it, the CSV file {RESULT_FILE}, with one row for each {facts.row} that "
            "counts and these columns:",
            *(_line(column, "") for column in clean_columns(family)),
            "A missing value is an empty cell. Nothing is filled in, rounded or left out beyond "
            "these rules. The order of rows and columns is free.",
            *_PROGRAM_RULES,
        ]
    )


def clean_columns(family: Family) -> tuple[Column, ...]:
    """Return the columns of the clean table of the facts."""
    return tuple(
        Column(name=field.name, kind=_kind(field), places=field.places)
        for field in family.facts.fields
    )


_RESULT_RULES = (
    "A missing value is in no sum, mean or other statistic; its row counts as a row. A cell that "
    "has no value is left empty. Round nothing on the way.",
)
_PROGRAM_RULES = (
    "The program is run afresh, in a folder like /workspace that holds it and other files of the "
    "same form, so it must compute what it writes. The folder output is there.",
)


# ---- the files --------------------------------------------------------------------------------


def _files(family: Family, style: Style, files: Mapping[str, bytes], joined: bool) -> list[str]:
    lines = ["The folder /workspace holds data:"]
    lines += _file(family.facts, facts_path(family, style), style.facts, style, files)
    if style.entities is not None and joined:
        path = entities_path(family, style)
        lines += _file(family.entities, path, style.entities, style, files)
        reference = family.facts.fields[1].name
        lines.append(
            f"{reference} leads from {family.facts.name} to {family.entities.name}. "
            f"{family.facts.name.capitalize()} whose {reference} is not listed do not count."
        )
    rules = _rules(family, style, joined)
    if rules:
        lines += ["Rules for reading:", *(f"- {rule}" for rule in rules)]
    return lines


def _file(
    shape: Shape, path: str, kind: Format, style: Style, files: Mapping[str, bytes]
) -> list[str]:
    fields = ", ".join(_field_words(field) for field in shape.fields)
    encoding = "" if style.encoding == "utf-8" else f", encoded as {style.encoding}"
    match kind:
        case Format.SQLITE:
            return [f"- {path}, an SQLite database, table {shape.name}: {fields}."]
        case Format.JSON_LINES:
            form = f"one JSON object a line{encoding}"
        case Format.CSV:
            form = f"CSV with {_SEPARATORS[style.separator]} between cells{encoding}"
    lines = files[path].decode(style.encoding).splitlines()[:_SHOWN_LINES]
    return [
        f"- {path}, one {shape.row} a line, {form}: {fields}. It begins:",
        *(f"    {line}" for line in lines),
    ]


def _field_words(field: Field) -> str:
    missing = ", may be missing" if field.optional else ""
    return f"{field.name} ({field.meaning}{missing})"


def _rules(family: Family, style: Style, joined: bool) -> list[str]:
    facts = family.facts
    rules = []
    if style.repeats:
        rules.append(
            f"A {facts.key} may stand in {facts.name} more than once: only the last line with it "
            "counts."
        )
    if style.strays:
        rules.append(f"A line without a {facts.key} is no {facts.row} and does not count.")
    if style.missing != ("",):
        tokens = " or ".join(f'"{token}"' for token in style.missing if token)
        rules.append(f"A missing value is empty, {tokens}.")
    if style.decimal_comma:
        rules.append(
            "Numbers (but not ids) have a decimal comma and dots between thousands: 1.234,5 is "
            "one thousand two hundred thirty-four and a half."
        )
    if style.units:
        rules.append("A number may carry its unit, which is always the same.")
    if style.spelling:
        rules.append(
            "Categories come in any case and with spaces around; they mean, and are written in "
            "results, in lower case without those spaces."
        )
    if style.mixed_times:
        rules.append(
            "Times are in UTC, some as DD.MM.YYYY HH:MM:SS and the others as YYYY-MM-DD HH:MM:SS."
        )
    if style.offsets:
        rules.append("Each time carries its offset from UTC. Results are in UTC.")
    return rules


# ---- what is asked ----------------------------------------------------------------------------


def _selection(family: Family, plan: Plan) -> list[str]:
    lines = []
    if plan.conditions:
        words = " and ".join(_condition_words(one) for one in plan.conditions)
        lines.append(f"Take only the {family.facts.name} whose {words}.")
    if plan.derived:
        lines.append(f"Let {family.derived.name} be {family.derived.meaning}.")
    return lines


def _condition_words(condition: Condition) -> str:
    value = f'"{condition.value}"' if isinstance(condition.value, str) else str(condition.value)
    return f"{condition.field} {_SIGNS[condition.sign]} {value}"


def _grouping(family: Family, plan: Plan) -> list[str]:
    keys = " and ".join(_key_words(key) for key in plan.keys)
    lines = [f"The table has one row for each {keys} among them."]
    if plan.least_rows:
        lines.append(f"Leave out rows of fewer than {plan.least_rows} {family.facts.name}.")
    if plan.top:
        lines.append(
            f"It holds only the {plan.top} rows with the largest {plan.measures[0].name}, the "
            "largest first."
        )
    else:
        lines.append("The order of its rows and columns is free.")
    return lines


def _key_words(key: Key) -> str:
    return f"{key.part} of {key.field}" if key.part is not None else key.field


def _columns(family: Family, plan: Plan) -> list[str]:
    lines = [_line(key.column, _KEY_NOTES.get(key.part, "")) for key in plan.keys]
    lines += [_line(one.column, _measure_words(family, one)) for one in plan.measures]
    if plan.window is not None:
        lines.append(_line(plan.window.column, _window_words(plan, plan.window)))
    return lines


_KEY_NOTES: dict[Part | None, str] = {
    Part.MONTH: "the month in UTC as YYYY-MM",
    Part.WEEKDAY: "the English name of the weekday in UTC, such as Monday",
    Part.HOUR: "the hour in UTC, 0 to 23",
}


def _line(column: Column, meaning: str) -> str:
    form = GRAMMAR[column.kind]
    if column.kind is Kind.NUMBER:
        form = f"number, to {column.places} decimal places"
    elif column.kind is Kind.INTEGER:
        form = "whole number"
    return f"- {column.name} ({form})" + (f": {meaning}" if meaning else "")


def _measure_words(family: Family, measure: Measure) -> str:
    if measure.function is Function.COUNT:
        return f"the number of {family.facts.name}"
    if measure.condition is not None:
        condition = _condition_words(measure.condition)
        return f"the percentage of {family.facts.name} whose {condition}"
    return _WORDS[measure.function].format(measure.field)


_WORDS = {
    Function.SUM: "the sum of {}",
    Function.MEAN: "the mean of {}",
    Function.MEDIAN: "the median of {}",
    Function.LEAST: "the smallest {}",
    Function.MOST: "the largest {}",
    Function.DISTINCT: "the number of different values of {}",
    Function.DEVIATION: (
        "the standard deviation of {} with the divisor n - 1; of fewer than two values, none"
    ),
    Function.PERCENTILE: (
        "the 90th percentile of {}, with linear interpolation between neighbouring values"
    ),
}


def _window_words(plan: Plan, window: Window) -> str:
    last = plan.keys[-1].name
    beside: Sequence[str] = [key.name for key in plan.keys[:-1]]
    within = f" of the same {' and '.join(beside)}" if beside else ""
    match window.kind:
        case WindowKind.CHANGE:
            return (
                f"{window.measure} minus that of the row before it by {last}{within}; in the first "
                "one, none"
            )
        case WindowKind.RUNNING:
            return f"the sum of {window.measure} of this row and all earlier ones by {last}{within}"
        case WindowKind.SHARE:
            return f"{window.measure} as a percentage of its sum over all rows{within}"
        case WindowKind.RANK:
            return (
                f"the place of the row by {window.measure}, the largest being 1, among the rows"
                f"{within}; equal ones share the better place"
            )


def _kind(field: Field) -> Kind:
    return {
        Role.ID: Kind.INTEGER,
        Role.COUNT: Kind.INTEGER,
        Role.NUMBER: Kind.NUMBER,
        Role.TIME: Kind.TIME,
    }.get(field.role, Kind.TEXT)
