"""Every task proves itself: its reference passes, wrong programs fail."""

import ast
import asyncio
import itertools
import os
import subprocess
import sys

import pytest

from execgym.envs.data_analysis.gold import reference_answer
from execgym.envs.data_analysis.mutants import mutants
from execgym.envs.data_analysis.tasks import SHOWN, case_of, generate
from execgym.envs.data_analysis.template import TEMPLATE
from execgym.judging.verdict import Status
from execgym.sandbox import SandboxSpec, open_sandbox

TASKS = [
    f"generated/{split}/{level}/{seed}"
    for split in ("train", "test")
    for level in range(1, 6)
    for seed in range(3)
]


@pytest.mark.parametrize("task_id", TASKS)
def test_the_reference_passes(grade, task_id):
    verdict = grade(task_id, reference_answer(task_id))
    assert verdict.status is Status.PASS, verdict
    assert verdict.score == 1.0 or generate(task_id).work.kind == "model"


@pytest.mark.parametrize("level", range(1, 6))
def test_a_program_gets_the_answer_that_the_host_has_computed_without_pandas(
    grade, find_task, level
):
    task_id = find_task("answer", level)
    task = generate(task_id)

    async def run():
        async with await open_sandbox(SandboxSpec(template=TEMPLATE)) as sandbox:
            for path, data in case_of(task, SHOWN).files.items():
                await sandbox.write_file(path, data)
            return (await sandbox.run_python(task.reference)).check().stdout

    assert grade(task_id, asyncio.run(run())).status is Status.PASS


# What changes nothing: a text that is no number is missing however that is written, and cells that
# are numbers already may stay as they are.
EQUIVALENT = (".map(number_of)", "if text in [", "'None'", "removesuffix")


@pytest.mark.parametrize("level", range(1, 6))
def test_programs_that_are_wrong_in_one_thing_fail(grade, level):
    passed = []
    tried = 0
    ids = (f"generated/test/{level}/{seed}" for seed in itertools.count())
    # What is typed in has no mutants, and a model may err and still be good.
    tables = (one for one in ids if generate(one).work.kind in ("program", "cleaning"))
    for task_id in itertools.islice(tables, 2):
        source = reference_answer(task_id)
        lines = set(ast.unparse(ast.parse(source)).splitlines())
        for mutant in mutants(source):
            tried += 1
            changed = lines - set(mutant.splitlines())
            harmless = any(mark in line for mark in EQUIVALENT for line in changed)
            if not harmless and grade(task_id, mutant).status is not Status.FAIL:
                passed.append((task_id, changed))
    assert tried
    assert not passed


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland"])
@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_tasks_do_not_depend_on_hash_seed_time_zone_or_locale(zone, hash_seed):
    code = (
        "import hashlib, json\n"
        "from execgym.envs.data_analysis.tasks import GeneratedSource, case_of, generate\n"
        "from execgym.envs.data_analysis.gold import reference_answer\n"
        "digest = hashlib.sha256()\n"
        "for level in range(1, 6):\n"
        "    task_id = f'generated/train/{level}/77'\n"
        "    task = GeneratedSource().task(task_id)\n"
        "    case = case_of(generate(task_id), 'hidden 1')\n"
        "    digest.update(repr((task.prompt, task.files, reference_answer(task_id), "
        "sorted(case.files.items()), case.rows)).encode())\n"
        "print(digest.hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for environment in (
            {"TZ": zone, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C"},
            {"TZ": "UTC", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        )
    }
    assert len(digests) == 1
