"""Models: what is scored, what passes, and what cannot be gained without learning."""

import re

import pytest

from execgym.envs.data_analysis.gold import reference_answer
from execgym.envs.data_analysis.models import PASSING_GAIN, gain
from execgym.envs.data_analysis.tasks import SHOWN, case_of, generate
from execgym.judging.tables import OutputError
from execgym.judging.verdict import Status

READ = """import pandas as pd
train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
key = test.columns[0]
result = pd.DataFrame({key: test[key], "prediction": train["label"].mean()})
"""
WRITE = 'result.to_csv("output/result.csv", index=False)\n'


@pytest.fixture(scope="module")
def task_id(find_task):
    return find_task("model", 3)


def predictions(task_id, change=lambda key, label: (key, label)):
    """Return a file of predictions made from the labels themselves."""
    task = generate(task_id)
    case = case_of(task, SHOWN)
    lines = [f"{task.family.facts.key},prediction"]
    lines += [",".join(map(str, change(key, label))) for key, label in case.labels]
    return case, "\n".join(lines).encode(), task.schema


@pytest.mark.parametrize("level", [3, 4, 5])
def test_the_reference_is_close_to_the_best(grade, find_task, level):
    task_id = find_task("model", level)
    verdict = grade(task_id, reference_answer(task_id))
    assert verdict.status is Status.PASS
    assert PASSING_GAIN <= verdict.score == verdict.checks[0].value <= 1.0


@pytest.mark.parametrize(
    "source",
    [
        READ + WRITE,
        READ + "result['prediction'] = 0\n" + WRITE,
        READ + "result['prediction'] = float('nan')\n" + WRITE,
        READ + "result['prediction'] = 1e300\n" + WRITE,
        READ + "result['prediction'] = float('-inf')\n" + WRITE,
        READ + "result['prediction'] = train['label'].iloc[: len(test)].to_numpy()\n" + WRITE,
        READ + "result['prediction'] = test['label']\n" + WRITE,
        READ + "result = result.head(0)\n" + WRITE,
        "print('score 1.0')",
    ],
)
def test_what_has_learnt_nothing_earns_nothing(grade, task_id, source):
    verdict = grade(task_id, source)
    assert (verdict.status, verdict.score) == (Status.FAIL, 0.0)


@pytest.mark.parametrize(
    "change",
    [
        "result = result.iloc[1:]",
        "result = pd.concat([result, result.head(1)])",
        "result[key] = result[key] + 1",
        "result['label'] = 1",
        "result = result.rename(columns={'prediction': 'label'})",
        "result.loc[0, 'prediction'] = None",
    ],
)
def test_each_row_needs_one_prediction(grade, task_id, change):
    source = reference_answer(task_id)
    line = source.splitlines()[-1]
    spoilt = f"key = result.columns[0]\n{change}\n{line}\n"
    assert grade(task_id, source.replace(f"{line}\n", spoilt)).status is Status.FAIL


def test_the_labels_themselves_score_one_and_their_mean_nothing(task_id):
    assert gain(*predictions(task_id)) == 1.0
    case, data, schema = predictions(task_id, lambda key, label: (key, 0.0))
    assert gain(case, data, schema) <= 0.0
    assert case.errors[0] > 2 * case.errors[1] > 0


@pytest.mark.parametrize("value", ["", "nan", "x", "1e308", "-1e7", "1,5"])
def test_a_prediction_is_a_number_of_some_size(task_id, value):
    case, data, schema = predictions(task_id, lambda key, label: (key, f'"{value}"'))
    with pytest.raises(OutputError):
        gain(case, data, schema)


def test_no_label_of_the_second_file_is_in_the_files(find_task):
    for level in (3, 4, 5):
        case = case_of(generate(find_task("model", level)), SHOWN)
        known = set(re.findall(rb"^(\d+),", case.files["input/train.csv"], re.MULTILINE))
        assert not {str(key).encode() for key, _ in case.labels} & known
        assert b"label" not in case.files["input/test.csv"]
