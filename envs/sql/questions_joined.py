"""Levels 3 and 4: questions over several tables."""

# ruff: noqa: S608 - every part of these queries is our own: names of schemas, seeded values.
from __future__ import annotations

from execgym.envs.sql.questions import NoQuestionError, Question, Scene
from execgym.envs.sql.reference import quote, reference_query
from execgym.envs.sql.schemas import Table


def pair(scene: Scene) -> tuple[Table, Table]:
    """Choose a parent table and its child."""
    schema = scene.schema
    return scene.one_of(((schema.owner, schema.item), (schema.item, schema.event)))


def joined(parent: Table, child: Table, kind: str = "JOIN") -> str:
    """Return a FROM clause, the parent as p and the child as c."""
    reference = child.reference_to(parent.name)
    if kind == "JOIN":
        return f"FROM {child.name} c JOIN {parent.name} p ON c.{reference.name} = p.id"
    return f"FROM {parent.name} p {kind} {child.name} c ON c.{reference.name} = p.id"


def chain(scene: Scene) -> str:
    """Return a FROM clause over all three tables: owner o, item i, event e."""
    owner, item, event = scene.schema.tables
    return (
        f"FROM {event.name} e JOIN {item.name} i ON e.{event.reference_to(item.name).name} = i.id "
        f"JOIN {owner.name} o ON i.{item.reference_to(owner.name).name} = o.id"
    )


def join_list(scene: Scene) -> Question:
    """List a column of the children with a column of their parents."""
    parent, child = pair(scene)
    column = scene.shown(child)
    condition = scene.condition(child, alias="c", without=(column,))
    text = (
        f"For the {child.plural} {condition.english}, list the {child.singular}'s {column.label} "
        f"and the {parent.title.label} of its {parent.singular}, one row for each "
        f"{child.singular}."
    )
    reference = reference_query(
        f"c.{column.name}, p.{parent.title.name}",
        f"{joined(parent, child)} WHERE {condition.sql}",
    )
    return Question(kind="join_list", text=text, reference=reference, tables=(parent, child))


def join_count(scene: Scene) -> Question:
    """Count the children whose parent meets a condition."""
    parent, child = pair(scene)
    condition = scene.condition(parent, alias="p")
    text = f"How many {child.plural} belong to {parent.plural} {condition.english}?"
    reference = reference_query("COUNT(*)", f"{joined(parent, child)} WHERE {condition.sql}")
    return Question(kind="join_count", text=text, reference=reference, tables=(parent, child))


def join_both(scene: Scene) -> Question:
    """List children by a condition on them and one on their parents."""
    parent, child = pair(scene)
    first = scene.condition(child, alias="c")
    second = scene.condition(parent, alias="p")
    text = (
        f"List the {child.title.label} of the {child.plural} {first.english} that belong to a "
        f"{parent.singular} {second.english}."
    )
    reference = reference_query(
        f"c.{child.title.name}", f"{joined(parent, child)} WHERE {first.sql} AND {second.sql}"
    )
    return Question(kind="join_both", text=text, reference=reference, tables=(parent, child))


def join_group(scene: Scene) -> Question:
    """Aggregate the children of each parent."""
    parent, child = pair(scene)
    number, function, word = scene.measure(child)
    if scene.one_of((True, False, False)):
        what, value = f"number of {child.plural}", "COUNT(*)"
    else:
        what, value = f"{word} {number.label} of its {child.plural}", f"{function}(c.{number.name})"
    text = (
        f"For each {parent.singular} with at least one {child.singular}, give its "
        f"{parent.title.label} and the {what}."
    )
    reference = reference_query(
        f"p.{parent.title.name}, {value}", f"{joined(parent, child)} GROUP BY p.id"
    )
    return Question(kind="join_group", text=text, reference=reference, tables=(parent, child))


def join_category(scene: Scene) -> Question:
    """Aggregate the children for each category of their parents."""
    parent, child = pair(scene)
    column = scene.group(parent)
    number, function, word = scene.measure(child)
    text = (
        f"For each {column.label} of the {parent.plural}, what is the {word} {number.label} of the "
        f"{child.plural} that belong to them? Give the {column.label} and the {word} "
        f"{number.label}."
    )
    reference = reference_query(
        f"p.{column.name}, {function}(c.{number.name})",
        f"{joined(parent, child)} GROUP BY p.{column.name}",
    )
    return Question(kind="join_category", text=text, reference=reference, tables=(parent, child))


def join_distinct(scene: Scene) -> Question:
    """List the parents that have a child meeting a condition, each once."""
    parent, child = pair(scene)
    condition = scene.condition(child, alias="c")
    text = (
        f"List the {parent.title.label} of the {parent.plural} that have at least one "
        f"{child.singular} {condition.english}, each {parent.singular} once."
    )
    reference = reference_query(
        f"DISTINCT p.{parent.title.name}", f"{joined(parent, child)} WHERE {condition.sql}"
    )
    return Question(kind="join_distinct", text=text, reference=reference, tables=(parent, child))


def having(scene: Scene) -> Question:
    """List the categories of one table with more than so many rows."""
    table = scene.one_of((scene.schema.item, scene.schema.event))
    column = scene.group(table)
    counts: dict[object, int] = {}
    for row in scene.rows[table.name]:
        counts[row[column.name]] = counts.get(row[column.name], 0) + 1
    bound = sorted(counts.values())[len(counts) // 2]
    text = (
        f"Which values of {column.label} have at least {bound} {table.plural}? "
        f"Give the {column.label} and the number of {table.plural}."
    )
    reference = reference_query(
        f"{column.name}, COUNT(*)",
        f"FROM {table.name} GROUP BY {column.name} HAVING COUNT(*) >= {bound}",
    )
    return Question(kind="having", text=text, reference=reference, tables=(table,))


def join_having(scene: Scene) -> Question:
    """List the parents with at least so many children."""
    parent, child = pair(scene)
    reference_name = child.reference_to(parent.name).name
    counts: dict[object, int] = {}
    for row in scene.rows[child.name]:
        counts[row[reference_name]] = counts.get(row[reference_name], 0) + 1
    bound = sorted(counts.values())[len(counts) // 2]
    if bound < 2:
        raise NoQuestionError
    text = (
        f"List the {parent.title.label} of the {parent.plural} that have at least {bound} "
        f"{child.plural}."
    )
    reference = reference_query(
        f"p.{parent.title.name}",
        f"{joined(parent, child)} GROUP BY p.id HAVING COUNT(*) >= {bound}",
    )
    return Question(kind="join_having", text=text, reference=reference, tables=(parent, child))


def anti_join(scene: Scene) -> Question:
    """List the parents without children, or without such ones."""
    parent, child = pair(scene)
    key = child.reference_to(parent.name).name
    if scene.one_of((True, False)):
        words, test = f"no {child.plural}", ""
    else:
        condition = scene.condition(child)
        words, test = f"no {child.plural} {condition.english}", f" WHERE {condition.sql}"
    text = f"List the {parent.title.label} of the {parent.plural} that have {words}."
    reference = reference_query(
        parent.title.name,
        f"FROM {parent.name} WHERE id NOT IN (SELECT {key} FROM {child.name}{test})",
    )
    return Question(kind="anti_join", text=text, reference=reference, tables=(parent, child))


def left_count(scene: Scene) -> Question:
    """Count the children of every parent, zero too."""
    parent, child = pair(scene)
    text = (
        f"For every {parent.singular}, give its {parent.title.label} and the number of its "
        f"{child.plural}, 0 for those that have none."
    )
    reference = reference_query(
        f"p.{parent.title.name}, COUNT(c.id)",
        f"{joined(parent, child, 'LEFT JOIN')} GROUP BY p.id",
    )
    return Question(kind="left_count", text=text, reference=reference, tables=(parent, child))


def above_average(scene: Scene) -> Question:
    """List the rows above, or below, the average of their table."""
    table = scene.table()
    column = scene.number(table)
    sign, word = scene.one_of(((">", "higher"), ("<", "lower")))
    text = (
        f"List the {table.title.label} of the {table.plural} whose {column.label} is {word} than "
        f"the average {column.label} of all {table.plural}."
    )
    reference = reference_query(
        table.title.name,
        f"FROM {table.name} WHERE {column.name} {sign} "
        f"(SELECT AVG({column.name}) FROM {table.name})",
    )
    return Question(kind="above_average", text=text, reference=reference, tables=(table,))


def buckets(scene: Scene) -> Question:
    """Count the rows below, between and above two bounds."""
    table = scene.table()
    column = scene.number(table)
    values = sorted(row[column.name] for row in scene.rows[table.name])  # type: ignore[type-var]
    low, high = values[len(values) // 3], values[2 * len(values) // 3]
    if low == high:
        raise NoQuestionError
    text = (
        f"Call a {table.singular} 'low' if its {column.label} is less than {quote(low)}, 'high' if "
        f"it is greater than {quote(high)}, and 'middle' otherwise. How many {table.plural} are in "
        "each of these classes? Give the class and the number."
    )
    case = (
        f"CASE WHEN {column.name} < {quote(low)} THEN 'low' "
        f"WHEN {column.name} > {quote(high)} THEN 'high' ELSE 'middle' END"
    )
    reference = reference_query(f"{case} AS class, COUNT(*)", f"FROM {table.name} GROUP BY class")
    return Question(kind="buckets", text=text, reference=reference, tables=(table,))


def by_period(scene: Scene) -> Question:
    """Count or total the events of each month or year."""
    table = scene.schema.event
    column = scene.one_of(table.of_kind("day"))
    number = scene.number(table)
    pattern, example, word = scene.one_of((("%Y-%m", "2023-04", "month"), ("%Y", "2023", "year")))
    value, what = scene.one_of(
        (
            ("COUNT(*)", f"number of {table.plural}"),
            (f"SUM({number.name})", f"total {number.label} of the {table.plural}"),
        )
    )
    text = (
        f"For each {word} of the {column.label} (written like '{example}'), give the {word} and "
        f"the {what}, from the latest {word} to the earliest."
    )
    period = f"strftime('{pattern}', {column.name})"
    reference = reference_query(
        f"{period}, {value}", f"FROM {table.name} GROUP BY {period}", order=((period, True),)
    )
    return Question(kind="by_period", text=text, reference=reference, tables=(table,))


def within_period(scene: Scene) -> Question:
    """List the children of a year with their parents."""
    table, parent = scene.schema.event, scene.schema.item
    column = scene.one_of(table.of_kind("day"))
    number = scene.number(table)
    year = scene.one_of(("2022", "2023", "2024"))
    text = (
        f"For each {parent.singular} that has at least one {table.singular} whose {column.label} "
        f"lies in {year}, give its {parent.title.label} and the total {number.label} of those "
        f"{table.plural}."
    )
    reference = reference_query(
        f"p.{parent.title.name}, SUM(c.{number.name})",
        f"{joined(parent, table)} WHERE strftime('%Y', c.{column.name}) = '{year}' GROUP BY p.id",
    )
    return Question(kind="within_period", text=text, reference=reference, tables=(parent, table))


def chain_group(scene: Scene) -> Question:
    """Aggregate the events of each owner, over the items."""
    owner, item, event = scene.schema.tables
    number, function, word = scene.measure(event)
    condition = scene.condition(event, alias="e", without=(number,))
    text = (
        f"Consider the {event.plural} {condition.english}. For each {owner.singular} whose "
        f"{item.plural} have any of them, give the {owner.title.label} and the {word} "
        f"{number.label} of these {event.plural}."
    )
    reference = reference_query(
        f"o.{owner.title.name}, {function}(e.{number.name})",
        f"{chain(scene)} WHERE {condition.sql} GROUP BY o.id",
    )
    return Question(kind="chain_group", text=text, reference=reference, tables=scene.schema.tables)


def chain_list(scene: Scene) -> Question:
    """List events by a condition on the owner."""
    owner, item, event = scene.schema.tables
    condition = scene.condition(owner, alias="o")
    column = scene.shown(event)
    text = (
        f"Take the {owner.plural} {condition.english}. For every {event.singular} of their "
        f"{item.plural}, list the {owner.title.label} of the {owner.singular}, the "
        f"{item.title.label} of the {item.singular} and the {column.label} of the "
        f"{event.singular}."
    )
    reference = reference_query(
        f"o.{owner.title.name}, i.{item.title.name}, e.{column.name}",
        f"{chain(scene)} WHERE {condition.sql}",
    )
    return Question(kind="chain_list", text=text, reference=reference, tables=scene.schema.tables)


def most_children(scene: Scene) -> Question:
    """Find the parents with the largest totals over their children."""
    parent, child = pair(scene)
    number = scene.number(child)
    value, what = scene.one_of(
        (
            ("COUNT(*)", f"most {child.plural}"),
            (f"SUM(c.{number.name})", f"highest total {number.label} of their {child.plural}"),
        )
    )
    limit = scene.count_of(1, 3)
    who = f"{parent.singular} has" if limit == 1 else f"{limit} {parent.plural} have"
    what = what.replace("their", "its") if limit == 1 else what
    tail = "" if limit == 1 else ", the first one first"
    text = f"Which {who} the {what}? Give the {parent.title.label} and that number{tail}."
    reference = reference_query(
        f"p.{parent.title.name}, {value}",
        f"{joined(parent, child)} GROUP BY p.id",
        order=((value, True),),
        limit=limit,
    )
    return Question(kind="most_children", text=text, reference=reference, tables=(parent, child))


LEVEL_3 = (
    join_list,
    join_count,
    join_both,
    join_group,
    join_category,
    join_distinct,
    having,
    join_having,
)
"""Templates of level 3."""

LEVEL_4 = (
    anti_join,
    left_count,
    above_average,
    buckets,
    by_period,
    within_period,
    chain_group,
    chain_list,
    most_children,
)
"""Templates of level 4."""
