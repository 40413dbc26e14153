"""`execgym validate`: clean where all is well, and a status and a sentence where it is not."""

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from execgym.cli import validate
from execgym.cli.main import app
from execgym.cli.sources import known_answers

RUNNER = CliRunner()
ONE = ["validate", "SQL-v0", "--split", "test", "--level", "1", "--count", "1"]


def altered(**changes):
    def known(env_id):
        answers = known_answers(env_id)
        return lambda task_id: dataclasses.replace(
            answers(task_id), **{name: change(task_id) for name, change in changes.items()}
        )

    return known


@pytest.mark.parametrize(
    ("env_id", "levels", "count"),
    [
        ("SQL-v0", [], 5),
        ("Coding-v0", ["--level", "3"], 1),
        ("DataAnalysis-v0", ["--level", "2"], 1),
    ],
)
def test_a_sample_of_every_domain_is_clean(env_id, levels, count, tmp_path):
    path = tmp_path / "report.json"
    arguments = ["--split", "test", "--count", "1", "--no-conditions", "--json", str(path), *levels]
    result = RUNNER.invoke(app, ["validate", env_id, *arguments])
    assert result.exit_code == 0, result.output
    (report,) = json.loads(path.read_text())
    assert report["findings"] == []
    assert len(report["tasks"]) == count
    assert report["right_refused"]["episodes"] >= 5 * count
    assert report["wrong_passed"]["episodes"] >= 20 * count


def test_the_same_is_seen_under_every_hash_seed_zone_and_locale_and_under_load():
    result = RUNNER.invoke(app, ONE)
    assert result.exit_code == 0, result.output


def test_a_refused_right_answer_ends_with_one_and_is_named(monkeypatch):
    wrong = altered(right=lambda task_id: {"reference": "SELECT 1"})
    monkeypatch.setattr(validate, "known_answers", wrong)
    result = RUNNER.invoke(app, [*ONE, "--no-conditions"])
    assert result.exit_code == 1
    assert "oracle_max" in result.stdout
    assert "generated/test/1/" in result.stdout


def test_a_wrong_answer_that_passes_ends_with_one(monkeypatch):
    right = known_answers("execgym/SQL-v0")
    monkeypatch.setattr(
        validate,
        "known_answers",
        altered(wrong=lambda task_id: {"not so wrong": right(task_id).right["reference"]}),
    )
    result = RUNNER.invoke(app, [*ONE, "--no-conditions"])
    assert result.exit_code == 1
    assert "adversarial_floor: not so wrong: pass" in result.stdout


def test_something_else_under_another_condition_is_found(monkeypatch):
    monkeypatch.setattr(validate, "_play_under", lambda condition, work: {})
    result = RUNNER.invoke(app, ONE)
    assert result.exit_code == 1
    assert "verifier_portability: hash seed 3, Pacific/Auckland" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "Chess-v0"],
        ["validate", "SQL-v0", "--tasks", "nothing"],
        ["validate", "SQL-v0", "--split", "nothing"],
        ["validate", "SQL-v0", "--level", "9"],
        ["validate", "SQL-v0", "--backend", "nothing"],
    ],
)
def test_a_bad_argument_ends_with_two_and_is_named(arguments):
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 2
    assert arguments[-1] in result.stderr


def test_a_failure_of_its_own_ends_with_three(monkeypatch):
    def broken(env_id):
        raise RuntimeError("no answers today")

    monkeypatch.setattr(validate, "known_answers", broken)
    result = RUNNER.invoke(app, [*ONE, "--no-conditions"])
    assert result.exit_code == 3
    assert "no answers today" in result.stderr


def test_tasks_of_a_finite_source_are_spread_over_it():
    class Source:
        def ids(self, split, level):
            return [str(number) for number in range(10)]

    assert validate.choose_tasks(Source(), "test", 1, 3, 0) == ["0", "3", "6"]
