"""The generator of changes: pure, endless, and every task is sound."""

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import execgym  # noqa: F401
from execgym.envs.errors import InvalidOptionError, UnknownTaskError
from execgym.envs.sql.changes.answers import answers
from execgym.envs.sql.changes.exams import exam, surviving_mutants
from execgym.envs.sql.changes.tasks import LEVELS, ChangeSource, generate
from execgym.envs.sql.changes.trial import attempt, wrong_in
from execgym.envs.sql.data import SCHEMAS
from execgym.envs.sql.sources import load_source
from execgym.sandbox import run_sync

SOURCE = ChangeSource()
PRINT_TASKS = """
import hashlib, json, sys
from execgym.envs.sql.changes.exams import exam
from execgym.envs.sql.changes.tasks import ChangeSource
for task_id in json.load(sys.stdin):
    task = ChangeSource().task(task_id)
    digests = [hashlib.sha256(data).hexdigest() for data in exam(task_id).databases]
    print(json.dumps([task.prompt, task.level, dict(task.metadata), digests]))
"""


def sampled(split, level, count):
    generator = np.random.default_rng([3, level, split == "train"])
    return [SOURCE.sample(generator, split, level) for _ in range(count)]


def templates():
    """Return every template of the train split, and one of each level of the other one."""
    found = [("train", level, template) for level in LEVELS for template in LEVELS[level]]
    return found + [("test", level, LEVELS[level][0]) for level in LEVELS]


def one_of_kind(split, level, kind):
    return next(
        task_id
        for task_id in (f"changes/{split}/{level}/{seed}" for seed in range(500))
        if generate(task_id).change.kind == kind
    )


def test_equal_ids_give_equal_tasks_in_another_process_whatever_its_hash_seed():
    ids = [task_id for level in LEVELS for task_id in sampled("train", level, 1)]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_TASKS],
            input=json.dumps(ids),
            env={"PYTHONHASHSEED": seed},
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    prompts = [json.loads(line)[0] for line in outputs.pop().splitlines()]
    assert prompts == [SOURCE.task(task_id).prompt for task_id in ids]


@pytest.mark.parametrize(
    "task_id", ["", "changes/train/6/1", "changes/train/1/007", "generated/train/1/1", None, 7]
)
def test_an_id_of_no_change_is_refused_with_the_form_of_an_id(task_id):
    with pytest.raises(UnknownTaskError, match="changes/train/1/42"):
        SOURCE.task(task_id)


def test_changes_are_for_sqlite():
    with pytest.raises(InvalidOptionError, match="engine='sqlite'"):
        gymnasium.make("execgym/SQL-v0", tasks="changes", engine="duckdb")


@pytest.mark.parametrize(("split", "level", "template"), templates())
def test_every_template_makes_sound_tasks(split, level, template):
    task_id = one_of_kind(split, level, template.__name__)
    task, paper = generate(task_id), exam(task_id)
    change = task.change
    assert 2 <= len(paper.databases) <= 5
    assert len(set(paper.databases)) == len(paper.databases)
    for script in (change.script, *change.alternatives):
        for database, expected in zip(paper.databases, paper.expected, strict=True):
            assert wrong_in(expected, attempt(change, script, database)) == "", script
    untouched = [attempt(change, "", database) for database in paper.databases]
    assert any(map(wrong_in, paper.expected, untouched))
    for table in SCHEMAS[task.split][task.schema_index].tables:
        if level > 3 or f"{table.name} " in change.script:
            assert f"CREATE TABLE {table.name} (" in SOURCE.task(task_id).prompt


def test_hidden_databases_kill_every_mutant_that_others_kill():
    for level in LEVELS:
        for task_id in sampled("test", level, 1):
            wrong = set(answers(task_id).wrong.values())
            assert wrong.isdisjoint(surviving_mutants(task_id)), task_id


def test_references_and_alternatives_pass_and_wrong_scripts_fail_in_the_env():
    """More than a hundred wrong ones, in sandboxes; `execgym validate` plays more."""
    env = gymnasium.make("execgym/SQL-v0", tasks="changes", disable_env_checker=True).unwrapped

    async def play(task_id, text):
        await env.areset(options={"task_id": task_id})
        return await env.astep(text)

    wrong_ones = 0
    for level in LEVELS:
        for task_id in sampled("train", level, 1):
            known = answers(task_id)
            for name, text in known.right.items():
                assert run_sync(play(task_id, text))[1] == 1.0, (task_id, name)
            for name, text in known.wrong.items():
                assert run_sync(play(task_id, text))[1] == 0.0, (task_id, name)
            wrong_ones += len(known.wrong)
    env.close()
    assert wrong_ones >= 100


def test_gymnasiums_checker_has_no_complaint():
    env = gymnasium.make("execgym/SQL-v0", tasks="changes")
    check_env(env.unwrapped, skip_render_check=False)
    env.close()


def test_the_tools_say_what_they_do_here():
    env = gymnasium.make("execgym/SQL-v0", tasks="changes").unwrapped
    assert "copy of the database" in env.tools["run_sql"].description
    assert "script" in env.tools["submit_sql"].description
    other = gymnasium.make("execgym/SQL-v0").unwrapped
    assert "copy" not in other.tools["run_sql"].description


def test_a_look_shows_the_last_rows_and_what_changed_and_keeps_nothing():
    env = gymnasium.make("execgym/SQL-v0", tasks="changes", render_mode="ansi").unwrapped
    _, info = env.reset(seed=1)
    task = generate(info["task_id"])
    table = SCHEMAS[task.split][task.schema_index].event.name

    def look(query):
        action = json.dumps({"name": "run_sql", "arguments": {"query": query}})
        return env.step(action)[0]

    count = look(f"SELECT COUNT(*) AS n FROM {table}").splitlines()[1]
    seen = look(f"DELETE FROM {table}; SELECT COUNT(*) AS n FROM {table}").splitlines()
    assert seen == ["n", "0", "(1 row)", f"{count} rows inserted, changed or deleted in the copy."]
    assert look(f"SELECT COUNT(*) AS n FROM {table}").splitlines()[1] == count
    assert look("UPDATE nowhere SET a = 1") == "Error: no such table: nowhere"
    assert look("CREATE TABLE x (a)") == "Done; no rows."
    env.close()


def test_the_source_is_found_by_its_name():
    assert isinstance(load_source("changes"), ChangeSource)
