"""Level 5: windows, common table expressions, correlated and nested queries."""

# ruff: noqa: S608 - every part of these queries is our own: names of schemas, seeded values.
from __future__ import annotations

from execgym.envs.sql.questions import Question, Scene
from execgym.envs.sql.questions_joined import joined, pair
from execgym.envs.sql.reference import reference_query


def best_of_group(scene: Scene) -> Question:
    """List the best row of each category, all of them where several are equal."""
    table = scene.one_of((scene.schema.item, scene.schema.event))
    group, number = scene.group(table), scene.number(table)
    down, word = scene.one_of(((" DESC", "highest"), ("", "lowest")))
    text = (
        f"For each {group.label}, which {table.singular} has the {word} {number.label}? Give the "
        f"{group.label}, the {table.title.label} and the {number.label}; where several "
        f"{table.plural} are equal, give them all."
    )
    names = f"{group.name}, {table.title.name}, {number.name}"
    reference = reference_query(
        names,
        "FROM ranked WHERE place = 1",
        head=f"WITH ranked AS (SELECT {names}, RANK() OVER (PARTITION BY {group.name} "
        f"ORDER BY {number.name}{down}) AS place FROM {table.name})",
    )
    return Question(kind="best_of_group", text=text, reference=reference, tables=(table,))


def top_two_of_parent(scene: Scene) -> Question:
    """List the children in the first places of each parent."""
    parent, child = pair(scene)
    number = scene.number(child)
    places = scene.count_of(2, 3)
    text = (
        f"For each {parent.singular}, rank its {child.plural} by {number.label}, the highest "
        f"first; equal ones share a place, and the places after them are left out (1, 1, 3). Give "
        f"the {parent.title.label}, the {child.singular}'s {child.title.label} and the place, for "
        f"the places up to {places}."
    )
    reference = reference_query(
        "parent, child, place",
        f"FROM ranked WHERE place <= {places}",
        head=f"WITH ranked AS (SELECT p.{parent.title.name} AS parent, "
        f"c.{child.title.name} AS child, "
        f"RANK() OVER (PARTITION BY p.id ORDER BY c.{number.name} DESC) AS place "
        f"{joined(parent, child)})",
    )
    return Question(
        kind="top_two_of_parent", text=text, reference=reference, tables=(parent, child)
    )


def above_own_group(scene: Scene) -> Question:
    """List the rows above the average of their own group."""
    table = scene.one_of((scene.schema.item, scene.schema.event))
    group, number = scene.group(table), scene.number(table)
    sign, word = scene.one_of(((">", "greater"), ("<", "less")))
    text = (
        f"List the {table.title.label} of the {table.plural} whose {number.label} is {word} than "
        f"the average {number.label} of the {table.plural} with the same {group.label}."
    )
    reference = reference_query(
        f"a.{table.title.name}",
        f"FROM {table.name} a WHERE a.{number.name} {sign} (SELECT AVG(b.{number.name}) "
        f"FROM {table.name} b WHERE b.{group.name} = a.{group.name})",
    )
    return Question(kind="above_own_group", text=text, reference=reference, tables=(table,))


def totals_above_average(scene: Scene) -> Question:
    """List the parents whose total is above the average of all totals."""
    parent, child = pair(scene)
    number = scene.number(child)
    text = (
        f"Take the total {number.label} of the {child.plural} of each {parent.singular} that has "
        f"any. Which {parent.plural} have a total greater than the average of these totals? Give "
        f"the {parent.title.label} and the total."
    )
    reference = reference_query(
        "name, total",
        "FROM totals WHERE total > (SELECT AVG(total) FROM totals)",
        head=f"WITH totals AS (SELECT p.{parent.title.name} AS name, SUM(c.{number.name}) AS total "
        f"{joined(parent, child)} GROUP BY p.id)",
    )
    return Question(
        kind="totals_above_average", text=text, reference=reference, tables=(parent, child)
    )


def running_total(scene: Scene) -> Question:
    """Give the running total of an amount over the months."""
    table = scene.schema.event
    column, number = scene.one_of(table.of_kind("day")), scene.number(table)
    only, where = scene.maybe_condition(table, without=(column, number))
    text = (
        f"{only}For each month of the {column.label} (written like '2023-04'), give the month, the "
        f"total {number.label} of its {table.plural}, and the running total of {number.label} up "
        "to and including that month, from the latest month to the earliest."
    )
    month = f"strftime('%Y-%m', {column.name})"
    reference = reference_query(
        "month, total, SUM(total) OVER (ORDER BY month)",
        "FROM months",
        order=(("month", True),),
        head=f"WITH months AS (SELECT {month} AS month, SUM({number.name}) AS total "
        f"FROM {table.name}{where} GROUP BY month)",
    )
    return Question(kind="running_total", text=text, reference=reference, tables=(table,))


def change_by_year(scene: Scene) -> Question:
    """Give the change of a total from one year to the next."""
    table = scene.schema.event
    column, number = scene.one_of(table.of_kind("day")), scene.number(table)
    only, where = scene.maybe_condition(table, without=(column, number))
    text = (
        f"{only}Take the total {number.label} of the {table.plural} in each year of the "
        f"{column.label}. "
        "For each year give the year (as text like '2023'), the total, and its difference from "
        "the year before (NULL for the first year), from the latest year to the earliest."
    )
    year = f"strftime('%Y', {column.name})"
    reference = reference_query(
        "year, total, total - LAG(total) OVER (ORDER BY year)",
        "FROM years",
        order=(("year", True),),
        head=f"WITH years AS (SELECT {year} AS year, SUM({number.name}) AS total "
        f"FROM {table.name}{where} GROUP BY year)",
    )
    return Question(kind="change_by_year", text=text, reference=reference, tables=(table,))


def share_of_total(scene: Scene) -> Question:
    """Give the share of each category in a total."""
    table = scene.table()
    group, number = scene.group(table), scene.number(table)
    only, where = scene.maybe_condition(table, without=(group, number))
    text = (
        f"{only}What share of the total {number.label} of the {table.plural} does each "
        f"{group.label} have? Give the {group.label} and the share in percent, not rounded."
    )
    reference = reference_query(
        f"{group.name}, 100.0 * SUM({number.name}) / (SELECT SUM({number.name}) "
        f"FROM {table.name}{where})",
        f"FROM {table.name}{where} GROUP BY {group.name}",
    )
    return Question(kind="share_of_total", text=text, reference=reference, tables=(table,))


def every_child(scene: Scene) -> Question:
    """List the parents all of whose children meet a condition."""
    parent, child = pair(scene)
    number = scene.number(child)
    key = child.reference_to(parent.name).name
    lowest: dict[object, float] = {}
    for row in scene.rows[child.name]:
        value = float(row[number.name])  # type: ignore[arg-type]
        lowest[row[key]] = min(value, lowest.get(row[key], value))
    values = sorted(lowest.values())
    bound = values[len(values) // 2]
    text = (
        f"List the {parent.title.label} of the {parent.plural} that have at least one "
        f"{child.singular} and for all of whose {child.plural} the {number.label} is at least "
        f"{bound:g}."
    )
    reference = reference_query(
        f"p.{parent.title.name}",
        f"FROM {parent.name} p WHERE EXISTS (SELECT 1 FROM {child.name} c WHERE c.{key} = p.id) "
        f"AND NOT EXISTS (SELECT 1 FROM {child.name} c WHERE c.{key} = p.id "
        f"AND c.{number.name} < {bound:g})",
    )
    return Question(kind="every_child", text=text, reference=reference, tables=(parent, child))


def latest_event(scene: Scene) -> Question:
    """Give the day of the latest event of every item, and how many it had."""
    item, event = scene.schema.item, scene.schema.event
    column = scene.one_of(event.of_kind("day"))
    condition = scene.condition(item, alias="p")
    word = scene.one_of(("latest", "earliest"))
    function = "MAX" if word == "latest" else "MIN"
    text = (
        f"For every {item.singular} among the {item.plural} {condition.english}, give its "
        f"{item.title.label}, the {word} {column.label} of its {event.plural} (NULL if it has "
        f"none) and the number of its {event.plural}."
    )
    reference = reference_query(
        f"p.{item.title.name}, {function}(c.{column.name}), COUNT(c.id)",
        f"{joined(item, event, 'LEFT JOIN')} WHERE {condition.sql} GROUP BY p.id",
    )
    return Question(kind="latest_event", text=text, reference=reference, tables=(item, event))


LEVEL_5 = (
    best_of_group,
    top_two_of_parent,
    above_own_group,
    totals_above_average,
    running_total,
    change_by_year,
    share_of_total,
    every_child,
    latest_event,
)
"""Templates of level 5."""
