"""The generator: determined, varied, and honest about its files."""

import csv
import dataclasses
import datetime
import io
import itertools
import random
from decimal import Decimal
from fractions import Fraction

import pytest

from execgym.envs.data_analysis.catalogue import FAMILIES
from execgym.envs.data_analysis.families import DataSet, Role, draw_data_set
from execgym.envs.data_analysis.files import Format, Style, facts_path, write_files
from execgym.envs.data_analysis.plans import (
    Condition,
    Function,
    Key,
    Measure,
    Part,
    Plan,
    UndeterminedError,
    Window,
    WindowKind,
    rows_of,
)
from execgym.envs.data_analysis.tasks import HIDDEN, SHOWN, GeneratedSource, case_of, generate
from execgym.envs.errors import UnknownTaskError

IDS = [
    f"generated/{split}/{level}/{seed}"
    for split in ("train", "test")
    for level in range(1, 6)
    for seed in range(8)
]
ORDERS = FAMILIES[0]


def test_each_level_has_its_kinds_and_many_families():
    tasks = [generate(task_id) for task_id in IDS]
    assert {task.work.kind for task in tasks if task.level < 3} == {"program", "answer"}
    assert {task.work.kind for task in tasks if task.level > 3} == {
        "program",
        "answer",
        "cleaning",
        "model",
    }
    assert len({task.family.name for task in tasks}) == len(FAMILIES)


def test_train_and_test_share_no_prompt():
    source = GeneratedSource()
    prompts = {
        split: {source.task(i).prompt for i in IDS if f"/{split}/" in i}
        for split in ("train", "test")
    }
    assert not prompts["train"] & prompts["test"]


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "generated/train/0/1",
        "generated/train/6/1",
        "generated/dev/1/1",
        "generated/train/1/01",
        "generated/train/1/99999999999",
        f"generated/train/1/{2**31}",
        None,
        7,
    ],
)
def test_an_unknown_id_is_refused(task_id):
    with pytest.raises(UnknownTaskError, match="generated/<split>"):
        GeneratedSource().task(task_id)


@pytest.mark.parametrize("task_id", IDS[:20])
def test_fillings_differ_in_data_and_result(task_id):
    task = generate(task_id)
    cases = [case_of(task, name) for name in (SHOWN, *HIDDEN)]
    assert cases[0] == case_of(task, SHOWN)
    for first, second in itertools.pairwise(cases):
        assert (first.rows, first.labels) != (second.rows, second.labels)
        assert first.files != second.files
    assert {frozenset(case.files) for case in cases} == {frozenset(cases[0].files)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_keeps_its_declarations(family):
    data = draw_data_set(family, random.Random(3), rows=200, orphans=True)
    listed = [entity[family.entities.key] for entity in data.entities]
    assert len(set(listed)) == len(listed)
    assert any(fact[family.facts.fields[1].name] not in listed for fact in data.facts)
    for shape, records in ((family.facts, data.facts), (family.entities, data.entities)):
        assert len({record[shape.key] for record in records}) == len(records)
        for field in shape.fields:
            values = [record[field.name] for record in records]
            assert (None in values) is field.optional, field.name
            present = [value for value in values if value is not None]
            if field.role is Role.CATEGORY:
                assert set(present) <= set(field.values)
                assert all(value == value.lower() for value in present)
            if field.role is Role.NUMBER:
                assert all(-value.as_tuple().exponent == field.places for value in present)
            for bound in field.bounds:
                share = sum(value >= bound for value in present) / len(present)
                assert 0.05 < share < 0.98, (field.name, bound, share)


def order(number, customer, channel, status, quantity, price, shipping, when):
    names = [field.name for field in ORDERS.facts.fields]
    time = datetime.datetime.fromisoformat(when).replace(tzinfo=datetime.UTC)
    cost = None if shipping is None else Decimal(shipping)
    return dict(
        zip(
            names,
            (number, customer, channel, status, quantity, Decimal(price), cost, time),
            strict=True,
        )
    )


DATA = DataSet(
    (
        order(1, "C1", "web", "paid", 2, "10.00", "1.00", "2023-01-31T23:59:59"),
        order(2, "C1", "web", "open", 3, "0.10", None, "2023-02-01T00:00:00"),
        order(3, "C2", "shop", "paid", 5, "2.00", "4.00", "2023-02-03T12:30:00"),
        order(4, "C9", "shop", "paid", 1, "7.00", None, "2023-03-03T12:30:00"),
    ),
    (
        {"customer_id": "C1", "region": "north", "segment": "trade", "credit_limit": 500},
        {"customer_id": "C2", "region": "south", "segment": "trade", "credit_limit": 900},
    ),
)
CHANNEL = Key(name="channel", field="channel")
MONTH = Key(name="month", field="ordered_at", part=Part.MONTH)
COUNT = Measure(name="n", function=Function.COUNT, whole=True)
AMOUNT = Measure(name="total", function=Function.SUM, field="amount", places=2)


def statistic(function, field="quantity"):
    return Measure(name="x", function=function, field=field, places=2)


@pytest.mark.parametrize(
    ("plan", "rows"),
    [
        (Plan(keys=(CHANNEL,), measures=(COUNT,)), [("shop", 2), ("web", 2)]),
        (Plan(measures=(COUNT,)), [(4,)]),
        (Plan(joined=True, measures=(COUNT,)), [(3,)]),
        (
            Plan(
                joined=True,
                derived=True,
                keys=(Key(name="region", field="region"),),
                measures=(AMOUNT,),
            ),
            [("north", Fraction("20.3")), ("south", 10)],
        ),
        (Plan(keys=(MONTH,), measures=(COUNT,)), [("2023-01", 1), ("2023-02", 2), ("2023-03", 1)]),
        (
            Plan(keys=(Key(name="d", field="ordered_at", part=Part.WEEKDAY),), measures=(COUNT,)),
            [("Friday", 2), ("Tuesday", 1), ("Wednesday", 1)],
        ),
        (
            Plan(keys=(Key(name="h", field="ordered_at", part=Part.HOUR),), measures=(COUNT,)),
            [(0, 1), (12, 2), (23, 1)],
        ),
        (Plan(measures=(statistic(Function.MEAN),)), [(Fraction(11, 4),)]),
        (Plan(measures=(statistic(Function.MEDIAN),)), [(Fraction(5, 2),)]),
        (Plan(measures=(statistic(Function.PERCENTILE),)), [(Fraction(22, 5),)]),
        (Plan(measures=(statistic(Function.LEAST),)), [(1,)]),
        (Plan(measures=(statistic(Function.MOST),)), [(5,)]),
        (Plan(measures=(statistic(Function.DISTINCT, "customer_id"),)), [(3,)]),
        # A missing value is in no statistic, and meets no condition.
        (Plan(measures=(statistic(Function.MEAN, "shipping_cost"),)), [(Fraction(5, 2),)]),
        (
            Plan(keys=(MONTH,), measures=(statistic(Function.MEAN, "shipping_cost"),)),
            [("2023-01", 1), ("2023-02", 4), ("2023-03", None)],
        ),
        (
            Plan(
                conditions=(Condition(field="shipping_cost", sign="<", value=9),), measures=(COUNT,)
            ),
            [(2,)],
        ),
        (
            Plan(keys=(MONTH,), measures=(statistic(Function.DEVIATION),), least_rows=1),
            [("2023-01", None), ("2023-02", pytest.approx(2**0.5)), ("2023-03", None)],
        ),
        (Plan(keys=(MONTH,), measures=(COUNT,), least_rows=2), [("2023-02", 2)]),
        (
            Plan(derived=True, keys=(MONTH,), measures=(AMOUNT,), top=2),
            [("2023-01", 20), ("2023-02", Fraction("10.3"))],
        ),
        (
            Plan(
                keys=(CHANNEL,),
                measures=(
                    Measure(
                        name="p",
                        function=Function.SHARE,
                        condition=Condition(field="status", sign="==", value="paid"),
                    ),
                ),
            ),
            [("shop", 100), ("web", 50)],
        ),
        (
            Plan(
                keys=(CHANNEL, MONTH),
                measures=(COUNT,),
                window=Window(name="w", kind=WindowKind.CHANGE, measure="n", whole=True),
            ),
            [
                ("shop", "2023-02", 1, None),
                ("shop", "2023-03", 1, 0),
                ("web", "2023-01", 1, None),
                ("web", "2023-02", 1, 0),
            ],
        ),
        (
            Plan(
                keys=(CHANNEL, MONTH),
                measures=(COUNT,),
                window=Window(name="w", kind=WindowKind.RUNNING, measure="n", whole=True),
            ),
            [
                ("shop", "2023-02", 1, 1),
                ("shop", "2023-03", 1, 2),
                ("web", "2023-01", 1, 1),
                ("web", "2023-02", 1, 2),
            ],
        ),
        (
            Plan(
                keys=(MONTH, CHANNEL),
                measures=(COUNT,),
                window=Window(name="w", kind=WindowKind.SHARE, measure="n", places=1),
            ),
            [
                ("2023-01", "web", 1, 100),
                ("2023-02", "shop", 1, 50),
                ("2023-02", "web", 1, 50),
                ("2023-03", "shop", 1, 100),
            ],
        ),
        (
            Plan(
                derived=True,
                keys=(CHANNEL,),
                measures=(AMOUNT,),
                window=Window(name="w", kind=WindowKind.RANK, measure="total", whole=True),
            ),
            [("shop", 17, 2), ("web", Fraction("20.3"), 1)],
        ),
        (
            Plan(
                keys=(CHANNEL,),
                measures=(COUNT,),
                window=Window(name="w", kind=WindowKind.RANK, measure="n", whole=True),
            ),
            [("shop", 2, 1), ("web", 2, 1)],
        ),
    ],
)
def test_a_plan_has_the_rows_that_a_person_works_out(plan, rows):
    assert rows_of(plan, ORDERS, DATA) == rows


@pytest.mark.parametrize(
    "plan",
    [
        Plan(keys=(CHANNEL,), measures=(COUNT,), top=1),
        Plan(keys=(CHANNEL,), measures=(COUNT,), top=2),
        Plan(keys=(MONTH,), measures=(statistic(Function.MEAN, "shipping_cost"),), top=1),
    ],
)
def test_a_tie_or_a_missing_value_leaves_a_ranking_open(plan):
    with pytest.raises(UndeterminedError):
        rows_of(plan, ORDERS, DATA)


def written(style, **fields):
    style = dataclasses.replace(style, **fields)
    data = draw_data_set(ORDERS, random.Random(5), rows=80, orphans=False)
    files = write_files(ORDERS, style, data, random.Random(5))
    return data, files[facts_path(ORDERS, style)].decode(style.encoding)


def test_a_plain_file_holds_the_facts_as_they_are():
    data, text = written(Style())
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(data.facts)
    for row, fact in zip(rows, data.facts, strict=True):
        assert int(row["order_id"]) == fact["order_id"]
        assert Decimal(row["unit_price"]) == fact["unit_price"]
        assert (row["shipping_cost"] == "") is (fact["shipping_cost"] is None)


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        ({"decimal_comma": True}, ","),
        ({"units": True}, " EUR"),
        ({"mixed_times": True}, ".2023 "),
        ({"offsets": True}, "+05:30"),
        ({"spelling": True}, "PAID"),
        ({"missing": ("n/a",)}, "n/a"),
        ({"strays": True}, "\n;"),
        ({"facts": Format.JSON_LINES}, '{"order_id": '),
        ({"encoding": "utf-16"}, "order_id"),
    ],
)
def test_each_kind_of_dirt_is_there_when_it_is_announced(fields, mark):
    _, text = written(Style(separator=";"), **fields)
    assert mark in text
    if mark != "order_id" and not mark.startswith("{"):
        assert mark not in written(Style(separator=";"))[1]


def test_the_last_line_of_a_repeated_id_is_the_valid_one():
    data, text = written(Style(repeats=True))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) > len(data.facts)
    last = {int(row["order_id"]): row for row in rows}
    assert all(last[fact["order_id"]]["quantity"] == str(fact["quantity"]) for fact in data.facts)
    first = {int(row["order_id"]): row for row in reversed(rows)}
    assert any(first[key] != last[key] for key in last)
