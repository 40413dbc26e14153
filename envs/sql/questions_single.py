"""Levels 1 and 2: questions about one table."""

from __future__ import annotations

from execgym.envs.sql.questions import NoQuestionError, Question, Scene
from execgym.envs.sql.reference import ReferenceQuery, quote, reference_query
from execgym.envs.sql.schemas import Table

_DIRECTIONS = (
    (False, "from lowest to highest", "from earliest to latest"),
    (True, "from highest to lowest", "from latest to earliest"),
)


def _question(kind: str, table: Table, text: str, reference: ReferenceQuery) -> Question:
    return Question(kind=kind, text=text, reference=reference, tables=(table,))


def count_all(scene: Scene) -> Question:
    """Count all rows."""
    table = scene.table()
    text = scene.one_of((f"How many {table.plural} are there?", f"Count all {table.plural}."))
    return _question("count", table, text, reference_query("COUNT(*)", f"FROM {table.name}"))


def count_where(scene: Scene) -> Question:
    """Count the rows that meet a condition."""
    table = scene.table()
    condition = scene.condition(table)
    text = scene.one_of(
        (
            f"How many {table.plural} are there {condition.english}?",
            f"Count the {table.plural} {condition.english}.",
        )
    )
    rest = f"FROM {table.name} WHERE {condition.sql}"
    return _question("count_where", table, text, reference_query("COUNT(*)", rest))


def list_column(scene: Scene) -> Question:
    """List a column of all rows."""
    table = scene.table()
    column = scene.shown(table)
    text = scene.one_of(
        (
            f"List the {column.label} of every {table.singular}, one row each.",
            f"What is the {column.label} of each {table.singular}? Give one row for each.",
        )
    )
    return _question("list", table, text, reference_query(column.name, f"FROM {table.name}"))


def list_where(scene: Scene) -> Question:
    """List a column of the rows that meet a condition."""
    table = scene.table()
    column = scene.shown(table)
    condition = scene.condition(table, without=(column,))
    text = scene.one_of(
        (
            f"List the {column.label} of the {table.plural} {condition.english}, "
            f"one row for each {table.singular}.",
            f"Give the {column.label} of all {table.plural} {condition.english}, "
            f"one row for each {table.singular}.",
        )
    )
    rest = f"FROM {table.name} WHERE {condition.sql}"
    return _question("list_where", table, text, reference_query(column.name, rest))


def look_up(scene: Scene) -> Question:
    """Look one fact up by a name."""
    table = scene.one_of([t for t in scene.schema.tables if t.title.kind == "name"])
    column = scene.shown(table, table.title)
    name = scene.one_of(scene.rows[table.name])[table.title.name]
    key = table.title
    text = f"What is the {column.label} of the {table.singular} whose {key.label} is {quote(name)}?"
    rest = f"FROM {table.name} WHERE {key.name} = {quote(name)}"
    return _question("look_up", table, text, reference_query(column.name, rest))


def aggregate(scene: Scene) -> Question:
    """Aggregate a column over all rows."""
    table = scene.table()
    column, function, word = scene.measure(table)
    text = scene.one_of(
        (
            f"What is the {word} {column.label} of all {table.plural}?",
            f"Find the {word} {column.label} over all {table.plural}.",
        )
    )
    columns = f"{function}({column.name})"
    return _question("aggregate", table, text, reference_query(columns, f"FROM {table.name}"))


def distinct(scene: Scene) -> Question:
    """List the different values of a column."""
    table = scene.table()
    column = scene.group(table)
    text = scene.one_of(
        (
            f"List the different values of {column.label} among the {table.plural}, each once.",
            f"Which values of {column.label} occur among the {table.plural}? Give each one once.",
        )
    )
    columns = f"DISTINCT {column.name}"
    return _question("distinct", table, text, reference_query(columns, f"FROM {table.name}"))


def count_distinct(scene: Scene) -> Question:
    """Count the different values of a column."""
    table = scene.table()
    column = scene.one_of(table.of_kind("category", "whole", "day"))
    text = f"How many different values of {column.label} are there among the {table.plural}?"
    columns = f"COUNT(DISTINCT {column.name})"
    return _question("count_distinct", table, text, reference_query(columns, f"FROM {table.name}"))


def ordered_list(scene: Scene) -> Question:
    """List a column in the order of another one."""
    table = scene.table()
    column = scene.ordered(table)
    descending, words, words_for_days = scene.one_of(_DIRECTIONS)
    direction = words_for_days if column.kind == "day" else words
    text = scene.one_of(
        (
            f"List the {table.title.label} of all {table.plural}, ordered by {column.label} "
            f"{direction}.",
            f"Give the {table.title.label} of every {table.singular}, sorted by {column.label} "
            f"{direction}.",
        )
    )
    reference = reference_query(
        table.title.name, f"FROM {table.name}", order=((column.name, descending),)
    )
    return _question("order", table, text, reference)


def top_rows(scene: Scene) -> Question:
    """List the first few rows in the order of a column."""
    table = scene.table()
    column = scene.ordered(table)
    descending = scene.one_of((False, True))
    if column.kind == "day":
        word = "latest" if descending else "earliest"
    else:
        word = "highest" if descending else "lowest"
    number = scene.count_of(1, 5)
    if number == 1:
        text = (
            f"Which {table.singular} has the {word} {column.label}? Give its {table.title.label}."
        )
    else:
        text = (
            f"Which {number} {table.plural} have the {word} {column.label}? "
            f"Give their {table.title.label}, starting with the {word}."
        )
    reference = reference_query(
        table.title.name, f"FROM {table.name}", order=((column.name, descending),), limit=number
    )
    return _question("top", table, text, reference)


def group_count(scene: Scene) -> Question:
    """Count the rows for each value of a column."""
    table = scene.table()
    column = scene.group(table)
    text = scene.one_of(
        (
            f"For each {column.label}, how many {table.plural} are there? "
            f"Give the {column.label} and the number.",
            f"Count the {table.plural} by {column.label}. Give the {column.label} and the count.",
        )
    )
    rest = f"FROM {table.name} GROUP BY {column.name}"
    columns = f"{column.name}, COUNT(*)"
    return _question("group_count", table, text, reference_query(columns, rest))


def group_aggregate(scene: Scene) -> Question:
    """Aggregate a column for each value of another one."""
    table = scene.table()
    column = scene.group(table)
    number, function, word = scene.measure(table)
    text = (
        f"What is the {word} {number.label} of the {table.plural} for each {column.label}? "
        f"Give the {column.label} and the {word} {number.label}."
    )
    rest = f"FROM {table.name} GROUP BY {column.name}"
    columns = f"{column.name}, {function}({number.name})"
    return _question("group_aggregate", table, text, reference_query(columns, rest))


def two_conditions(scene: Scene) -> Question:
    """List a column of the rows that meet both, or one, of two conditions."""
    table = scene.table()
    first, second = scene.condition(table), scene.condition(table)
    if first.sql.split()[0] == second.sql.split()[0]:
        raise NoQuestionError
    word = scene.one_of(("and", "or"))
    either = " (or both)" if word == "or" else ""
    text = (
        f"List the {table.title.label} of the {table.plural} {first.english} {word} "
        f"{second.english}{either}."
    )
    rest = f"FROM {table.name} WHERE {first.sql} {word.upper()} {second.sql}"
    return _question("two_conditions", table, text, reference_query(table.title.name, rest))


def aggregate_where(scene: Scene) -> Question:
    """Aggregate a column over the rows that meet a condition."""
    table = scene.table()
    column, function, word = scene.measure(table)
    condition = scene.condition(table, without=(column,))
    text = f"What is the {word} {column.label} of the {table.plural} {condition.english}?"
    rest = f"FROM {table.name} WHERE {condition.sql}"
    reference = reference_query(f"{function}({column.name})", rest)
    return _question("aggregate_where", table, text, reference)


def missing(scene: Scene) -> Question:
    """Ask about NULL: list or count the rows with or without a value."""
    table = scene.table()
    column = scene.one_of([c for c in table.columns if c.missing])
    if scene.one_of((True, False)):
        words, test = f"that have no {column.label} (it is NULL)", f"{column.name} IS NULL"
    else:
        words, test = f"that have a {column.label} (it is not NULL)", f"{column.name} IS NOT NULL"
    rest = f"FROM {table.name} WHERE {test}"
    if scene.one_of((True, False)):
        text = f"How many {table.plural} are there {words}?"
        return _question("missing", table, text, reference_query("COUNT(*)", rest))
    text = f"List the {table.title.label} of the {table.plural} {words}."
    return _question("missing", table, text, reference_query(table.title.name, rest))


LEVEL_1 = (
    count_all,
    count_where,
    count_where,
    list_column,
    list_where,
    list_where,
    look_up,
    aggregate,
    aggregate,
)
"""Templates of level 1. One that stands twice is drawn twice as often."""

LEVEL_2 = (
    distinct,
    count_distinct,
    ordered_list,
    top_rows,
    group_count,
    group_aggregate,
    two_conditions,
    aggregate_where,
    missing,
)
"""Templates of level 2."""
