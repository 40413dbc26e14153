"""Models: a program learns from labelled rows and predicts others, whose labels only a judge has.

The label of a row is a function of two of its numbers and two of its categories, drawn for the task
and the same in all of its fillings, plus chance. So the best possible error is known: a prediction
is held against it and against the mean of the labels that are shown.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import random
import statistics
from collections.abc import Mapping, Sequence

from execgym.envs.data_analysis.families import (
    NUMERIC,
    Family,
    Field,
    Record,
    Role,
    decimal_of,
    draw_data_set,
)
from execgym.envs.data_analysis.reference import RESULT_FILE
from execgym.envs.data_analysis.work import Case, TaskKind
from execgym.judging.cells import Kind, parse_number
from execgym.judging.tables import Column, OutputError, TableSchema, read_table

LABEL = "label"
"""The column that is to be predicted."""

PASSING_GAIN = 0.7
"""The share of the possible gain over the mean that a model needs."""

_TRAIN_FILE, _TEST_FILE = "input/train.csv", "input/test.csv"
_TRAIN_ROWS = 480
_TEST_ROWS = 160
_PLACES = 2
_FURTHEST = 1.5
_NOISE_SHARE = 0.3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelWork:
    """A program that predicts the labels of rows.

    Attributes:
        numbers: The two numeric fields that matter.
        categories: The two categories that matter.
        slopes: How much each number matters.
        effects: What each value of the first category adds.
        turns: By value of the second category, what is added to the first slope; all are 0 where
            everything just adds up.
        curve: How much the square of the second number matters.
    """

    numbers: tuple[Field, Field]
    categories: tuple[Field, Field]
    slopes: tuple[float, float]
    effects: Mapping[str, float]
    turns: Mapping[str, float]
    curve: float

    @property
    def kind(self) -> TaskKind:
        """What is handed in."""
        return TaskKind.MODEL

    def schema(self, family: Family) -> TableSchema:
        """Return what the predictions look like."""
        key = family.facts.key
        return TableSchema(
            columns=(
                Column(name=key, kind=Kind.INTEGER),
                Column(name="prediction", kind=Kind.NUMBER, places=_PLACES),
            ),
            keys=(key,),
        )

    def label_without_chance(self, record: Record) -> float:
        """Return what is to be expected of a row: no prediction is better."""
        first, second = (_standard(field, record) for field in self.numbers)
        slope = self.slopes[0] + self.turns[str(record[self.categories[1].name])]
        effect = self.effects[str(record[self.categories[0].name])]
        return 10 + effect + slope * first + self.slopes[1] * second + self.curve * second**2

    def draw_case(self, family: Family, generator: random.Random) -> Case:
        """Draw a filling: rows with labels, and rows whose labels are the right result."""
        data = draw_data_set(family, generator, rows=_TRAIN_ROWS + _TEST_ROWS, orphans=False)
        facts = list(data.facts)
        generator.shuffle(facts)
        exact = [self.label_without_chance(fact) for fact in facts]
        noise = _NOISE_SHARE * statistics.pstdev(exact)
        labels = [decimal_of(value + generator.gauss(0, noise), _PLACES) for value in exact]
        train, test = slice(_TRAIN_ROWS), slice(_TRAIN_ROWS, _TRAIN_ROWS + _TEST_ROWS)
        mean = math.fsum(map(float, labels[train])) / _TRAIN_ROWS
        wanted = [float(label) for label in labels[test]]
        key = family.facts.key
        rows = tuple(
            (_whole(fact[key]), label) for fact, label in zip(facts[test], wanted, strict=True)
        )
        names = [field.name for field in family.facts.fields if field.role in _SHOWN_ROLES]
        return Case(
            files={
                _TRAIN_FILE: _csv(
                    [*names, LABEL],
                    [
                        {**fact, LABEL: label}
                        for fact, label in zip(facts[train], labels[train], strict=True)
                    ],
                ),
                _TEST_FILE: _csv(names, facts[test]),
            },
            rows=(),
            labels=rows,
            errors=(
                _error([mean] * len(wanted), wanted),
                _error(exact[test], wanted),
            ),
        )

    def prompt(self, family: Family, files: Mapping[str, bytes]) -> str:
        """Return what the model is asked."""
        facts = family.facts
        fields = [field for field in facts.fields if field.role in _SHOWN_ROLES]
        words = ", ".join(
            f"{field.name} ({field.meaning}{', may be missing' if field.optional else ''})"
            for field in fields
        )
        return "\n".join(
            [
                "The folder /workspace holds data:",
                f"- {_TRAIN_FILE}, one {facts.row} a line, CSV with commas between cells: {words}, "
                f"{LABEL} (a number that depends on some of the other columns and on chance). It "
                "begins:",
                *(f"    {line}" for line in files[_TRAIN_FILE].decode().splitlines()[:4]),
                f"- {_TEST_FILE}, the same for other {facts.name}, without {LABEL}.",
                "",
                "Write the Python program analysis.py, which learns from the first file to predict "
                f"{LABEL} and writes the CSV file {RESULT_FILE} with one row for each "
                f"{facts.row} of the second file and these columns:",
                f"- {facts.key} (whole number)",
                f"- prediction (number): the predicted {LABEL}",
                "Predictions are scored by their root mean squared error: 0 for that of the mean "
                f"{LABEL} of the first file, 1 for the best that is possible. A mean score of "
                f"{PASSING_GAIN} passes, and more is worth more. numpy, pandas, scipy and "
                "scikit-learn can be imported.",
                "The program is run afresh, in a folder like /workspace that holds it and other "
                f"files of the same form, in which {LABEL} depends on the other columns in the "
                "same way. The folder output is there.",
            ]
        )

    def reference(self, family: Family) -> str:
        """Return a program whose predictions are close to the best."""
        first, second = (field.name for field in self.numbers)
        adding, turning = (field.name for field in self.categories)
        return _REFERENCE.format(
            first=first,
            second=second,
            adding=adding,
            turning=turning,
            key=family.facts.key,
            train=_TRAIN_FILE,
            test=_TEST_FILE,
            label=LABEL,
            result=RESULT_FILE,
        )


_SHOWN_ROLES = (Role.ID, Role.CATEGORY, *NUMERIC)
_REFERENCE = """import numpy as np
import pandas as pd

train = pd.read_csv("{train}")
test = pd.read_csv("{test}")
both = pd.concat([train, test], ignore_index=True)
columns = [pd.get_dummies(both["{adding}"], dtype=float).to_numpy()]
groups = pd.get_dummies(both["{turning}"], dtype=float).to_numpy()
for name in ["{first}", "{second}"]:
    values = both[name].clip(upper=train[name].quantile(0.98)).to_numpy()
    for share in [0.0, 0.25, 0.5, 0.75, 0.9]:
        knot = train[name].quantile(share)
        hinge = np.maximum(values - knot, 0.0)[:, None]
        columns += [hinge, hinge * groups]
design = np.hstack(columns)
known = design[: len(train)]
scale = np.abs(known).max(axis=0) + 1e-9
penalty = 0.2 * np.eye(known.shape[1])
normal = (known / scale).T @ (known / scale) + penalty
center = train["{label}"].mean()
weights = np.linalg.solve(normal, (known / scale).T @ (train["{label}"] - center).to_numpy())
prediction = (design[len(train) :] / scale) @ weights + center
result = pd.DataFrame({{"{key}": test["{key}"], "prediction": prediction}})
result.to_csv("{result}", index=False)
"""


def draw_model_work(level: int, family: Family, generator: random.Random) -> ModelWork:
    """Draw what labels depend on: sums up to level 3, then turns, and at level 5 a curve."""
    fields = [one for one in family.facts.with_role(*NUMERIC) if not one.optional]
    first, second = generator.sample(fields, 2)
    adding, turning = generator.sample(family.facts.with_role(Role.CATEGORY), 2)
    turn = 1.6 if level >= 4 else 0.0
    return ModelWork(
        numbers=(first, second),
        categories=(adding, turning),
        slopes=(_either(generator, 0.8, 1.6), _either(generator, 0.8, 1.6)),
        effects={value: generator.uniform(-1.5, 1.5) for value in adding.values},
        turns={
            value: turn * (-1 if index % 2 else 1) for index, value in enumerate(turning.values)
        },
        curve=_either(generator, 0.8, 1.2) if level == 5 else 0.0,
    )


def gain(case: Case, data: bytes, schema: TableSchema) -> float:
    """Return the score of predictions: 0 for those of the mean label, 1 for the best possible.

    Raises:
        OutputError: They are no table of the schema, or not one number for each row.
    """
    predicted: dict[int, float] = {}
    for key, value in read_table(data, schema):
        row, number = parse_number(key), parse_number(value)
        if row is None or row.denominator != 1 or int(row) in predicted:
            raise OutputError("an id stands there twice or is no whole number")
        if number is None or abs(number) > _LARGEST_PREDICTION:
            raise OutputError(f"a prediction is missing, no number, or above {_LARGEST_PREDICTION}")
        predicted[int(row)] = float(number)
    wanted = dict(case.labels)
    if predicted.keys() != wanted.keys():
        raise OutputError("its ids are not those of the rows to predict")
    error = _error([predicted[row] for row in wanted], list(wanted.values()))
    worst, best = case.errors
    return min(1.0, (worst - error) / (worst - best))


_LARGEST_PREDICTION = 1_000_000


def _either(generator: random.Random, low: float, high: float) -> float:
    return generator.choice((-1, 1)) * generator.uniform(low, high)


def _standard(field: Field, record: Record) -> float:
    """Return a number in units of its spread, cut where it is far out."""
    middle = field.bounds[len(field.bounds) // 2]
    spread = max(1, field.bounds[-1] - field.bounds[0])
    value = (float(str(record[field.name])) - middle) / spread
    return max(-_FURTHEST, min(_FURTHEST, value))


def _error(predicted: Sequence[float], wanted: Sequence[float]) -> float:
    squares = [(one - other) ** 2 for one, other in zip(predicted, wanted, strict=True)]
    return math.sqrt(math.fsum(squares) / len(squares))


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"an id is a whole number, not {value!r}")
    return value


def _csv(names: Sequence[str], records: Sequence[Mapping[str, object]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()
