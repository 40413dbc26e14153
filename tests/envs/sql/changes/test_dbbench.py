"""AgentBench's INSERT and UPDATE tasks: every sound reference passes, and nothing trivial does."""

import asyncio

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import execgym  # noqa: F401
from execgym.envs.errors import InvalidOptionError, TaskSetUnavailableError, UnknownTaskError
from execgym.envs.sql.answers import answers
from execgym.envs.sql.changes.defective_tasks import DEFECTIVE_TASKS
from execgym.envs.sql.changes.exams import exam
from execgym.envs.sql.changes.hidden import hidden_change
from execgym.envs.sql.changes.judge import ChangeJudge
from execgym.envs.sql.changes.mutants import typed_in
from execgym.envs.sql.changes.public import DBBenchSource, all_ids
from execgym.envs.sql.changes.trial import attempt, wrong_in
from execgym.envs.sql.judge import ANSWER_FILE
from execgym.envs.validation import TRIVIAL
from execgym.sandbox import run_sync

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("sql_sets")]


def grade_all(pairs):
    source, judge = DBBenchSource(), ChangeJudge()

    async def run():
        slots = asyncio.Semaphore(4)

        async def one(task_id, text):
            async with slots:
                return await judge.grade(source.task(task_id), {ANSWER_FILE: text.encode()})

        return await asyncio.gather(*(one(*pair) for pair in pairs))

    return run_sync(run())


def test_every_sound_reference_passes():
    ids = DBBenchSource().ids("test")
    assert len(ids) == 198
    pairs = [(task_id, hidden_change(task_id).change.script) for task_id in ids]
    failed = [
        (pair, verdict.reason)
        for pair, verdict in zip(pairs, grade_all(pairs), strict=True)
        if verdict.score != 1.0
    ]
    assert failed == []


def test_the_defective_ones_are_listed_and_refused_with_the_reason():
    found = set()
    for task_id in all_ids():
        hidden = hidden_change(task_id)
        result = attempt(hidden.change, hidden.change.script, hidden.shown)
        untouched = attempt(hidden.change, "", hidden.shown)
        if result.error or not wrong_in(result, untouched):
            found.add(task_id)
    assert found == set(DEFECTIVE_TASKS)
    with pytest.raises(UnknownTaskError, match="changes nothing"):
        DBBenchSource().task("dbbench/206")
    with pytest.raises(UnknownTaskError, match="dbbench/100"):
        DBBenchSource().task("dbbench/1")


def test_nothing_trivial_passes_and_neither_does_the_table_typed_in():
    ids = DBBenchSource().ids("test")[::30]
    pairs = [(task_id, text) for task_id in ids for text in TRIVIAL.values()]
    for task_id in ids:
        hidden = hidden_change(task_id)
        before = attempt(hidden.change, "", hidden.shown).state
        whole = typed_in(before, exam(task_id).expected[0].state)[0]
        assert "DELETE" in whole
        pairs += [(task_id, whole), (task_id, DBBenchSource().task(task_id).prompt)]
    assert [
        pair for pair, verdict in zip(pairs, grade_all(pairs), strict=True) if verdict.score
    ] == []


def test_right_and_wrong_scripts_of_some_are_told_apart():
    for task_id in DBBenchSource().ids("test")[::66]:
        known = answers(task_id)
        fenced = {name: text for name, text in known.right.items() if name != "fenced block"}
        verdicts = grade_all(
            [(task_id, text) for text in (*fenced.values(), *known.wrong.values())]
        )
        scores = [verdict.score for verdict in verdicts]
        assert scores == [1.0] * len(fenced) + [0.0] * len(known.wrong)


def test_gymnasiums_checker_has_no_complaint():
    env = gymnasium.make("execgym/SQL-v0", tasks="dbbench")
    check_env(env.unwrapped, skip_render_check=False)
    env.close()


def test_it_is_for_sqlite_and_says_where_it_comes_from_when_it_is_not_here(monkeypatch, tmp_path):
    with pytest.raises(InvalidOptionError, match="engine='sqlite'"):
        gymnasium.make("execgym/SQL-v0", tasks="dbbench", engine="duckdb")
    monkeypatch.setenv("EXECGYM_DATA", str(tmp_path))
    with pytest.raises(TaskSetUnavailableError, match="agentbench_dbbench"):
        gymnasium.make("execgym/SQL-v0", tasks="dbbench")
