"""The coding env: tools, submissions, and that nothing hidden ever shows."""

import json
import pickle
import re

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from execgym.envs.coding.env import CodingEnv
from execgym.envs.coding.generated import GeneratedSource, blueprint
from execgym.envs.coding.gold import reference_answer
from execgym.envs.coding.judge import CodingJudge
from execgym.envs.errors import (
    InvalidOptionError,
    TaskSetUnavailableError,
    UnknownTaskError,
)

SETS = ("humaneval", "humaneval_plus", "mbpp", "mbpp_plus")
TASK = "generated/train/1/0"


def call(name, **arguments):
    return json.dumps({"name": name, "arguments": arguments})


@pytest.fixture
def env():
    env = CodingEnv()
    env.reset(seed=1, options={"task_id": TASK})
    yield env
    env.close()


@pytest.fixture
def data(public_sets, monkeypatch):
    monkeypatch.setenv("EXECGYM_DATA", str(public_sets / "coding"))


def test_gymnasiums_checker_has_no_complaint():
    env = gymnasium.make("execgym:execgym/Coding-v0")
    check_env(env.unwrapped, skip_render_check=False)
    env.close()


@pytest.mark.data
@pytest.mark.parametrize("name", SETS)
def test_gymnasiums_checker_has_no_complaint_about_a_public_set(name, data):
    env = gymnasium.make("execgym:execgym/Coding-v0", tasks=name, split="test")
    check_env(env.unwrapped, skip_render_check=False)
    env.close()


def test_the_reference_is_paid_and_a_wrong_answer_is_not(env):
    _, reward, terminated, truncated, info = env.step(call("submit", code=reference_answer(TASK)))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["verdict"]["status"] == "pass"
    env.reset(options={"task_id": TASK})
    _, reward, terminated, _, info = env.step("```python\nprint(1)\n```")
    assert (reward, terminated, info["tool"]) == (0.0, True, "submit")
    assert info["verdict"]["status"] == "fail"


def test_code_in_a_fenced_block_is_a_submission(env):
    answer = f"Here it is:\n```python\n{reference_answer(TASK)}\n```\nDone."
    assert env.step(answer)[1] == 1.0


def test_a_submission_of_code_opens_no_sandbox_of_the_episode(env):
    env.step(call("submit", code="x = 1"))
    assert env._sandbox is None


def test_files_are_written_run_read_and_submitted(env):
    code = reference_answer(TASK)
    assert "Wrote" in env.step(call("write_file", path="solution.py", content=code))[0]
    assert env.step(call("read_file", path="solution.py"))[0] == code
    name = blueprint(TASK).name
    ran = env.step(call("run_python", code="import os; print(sorted(os.listdir()))"))
    assert ran[4]["stdout"] == "['solution.py']\n"
    assert "Exit status 0" in ran[0]
    assert name
    assert env.step(call("submit"))[1] == 1.0


def test_running_shows_status_output_errors_and_what_was_left_out(env):
    observation, _, _, _, info = env.step(
        call("run_python", code="import sys\nprint('x' * 200_000)\nsys.exit('é broke')")
    )
    assert "Exit status 1" in observation
    assert re.search(r"stdout \(\d+ bytes in the middle are left out\)", observation)
    assert "stderr:\né broke" in observation
    assert info["exit_code"] == 1


def test_a_limit_is_an_observation():
    env = CodingEnv(limits={"cpu_seconds": 0.2})
    env.reset(options={"task_id": TASK})
    observation, reward, terminated, truncated, _ = env.step(
        call("run_python", code="while True: pass")
    )
    assert "ended by its cpu limit" in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    env.close()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a/../../x", "a\0b", "x" * 5000])
def test_a_path_that_is_not_allowed_is_an_observation(env, path):
    assert "The file was not written" in env.step(call("write_file", path=path, content="x"))[0]
    assert "The file was not read" in env.step(call("read_file", path=path))[0]


def test_a_missing_file_is_an_observation(env):
    assert "The file was not read" in env.step(call("read_file", path="nothing.py"))[0]


def test_a_link_is_not_followed(env):
    env.step(call("run_python", code="import os; os.symlink('/etc/passwd', 'solution.py')"))
    assert "The file was not read" in env.step(call("read_file", path="solution.py"))[0]
    observation, _, terminated, _, _ = env.step(call("submit"))
    assert "nothing to submit" in observation
    assert not terminated


def test_submitting_nothing_costs_a_step_and_says_what_to_do(env):
    observation, reward, terminated, truncated, _ = env.step(call("submit"))
    assert "/workspace/solution.py" in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    env.step(call("write_file", path="solution.py", content="x = 1"))
    assert env.step(call("submit", code="  "))[2]


def test_a_daemon_cannot_change_the_file_after_the_bell(env):
    wrong = "def nothing():\n    pass\n"
    daemon = (
        "import os, time\n"
        f"open('solution.py', 'w').write({wrong!r})\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    os.close(0); os.close(1); os.close(2)\n"
        "    while True:\n"
        "        with open('solution.py', 'w') as file:\n"
        f"            file.write({wrong!r})\n"
    )
    env.step(call("run_python", code=daemon))
    _, reward, terminated, _, _ = env.step(call("submit"))
    assert (reward, terminated) == (0.0, True)


def test_an_episode_that_is_cut_off_is_judged_as_it_stands():
    env = CodingEnv(max_turns=2)
    env.reset(options={"task_id": TASK})
    env.step(call("write_file", path="solution.py", content=reference_answer(TASK)))
    _, reward, terminated, truncated, _ = env.step(call("run_python", code="print(1)"))
    assert (reward, terminated, truncated) == (1.0, False, True)
    env.reset(options={"task_id": TASK})
    env.step(call("run_python", code="print(1)"))
    assert env.step(call("run_python", code="print(1)"))[1] == 0.0
    env.close()


def test_levels_and_splits_are_kept():
    env = CodingEnv(split="test", level=4)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert (info["split"], info["level"]) == ("test", 4)
    with pytest.raises(InvalidOptionError, match="level"):
        env.reset(options={"level": 9})
    with pytest.raises(UnknownTaskError):
        env.reset(options={"task_id": "generated/train/9/1"})


def test_an_unknown_source_is_refused_with_the_names():
    with pytest.raises(InvalidOptionError, match="humaneval"):
        CodingEnv(tasks="humanval")


def test_a_set_that_is_not_here_is_refused_with_the_way_to_bring_it(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECGYM_DATA", str(tmp_path))
    with pytest.raises(TaskSetUnavailableError, match="execgym data"):
        CodingEnv(tasks="mbpp")


def test_the_reference_is_in_no_observation_info_or_pickle():
    for seed in range(6):
        task_id = f"generated/train/{1 + seed % 5}/{seed}"
        env = CodingEnv()
        observation, info = env.reset(options={"task_id": task_id})
        plan = blueprint(task_id)
        functions = [operation.name for operation, _ in plan.steps]
        end = env.step(call("submit", code="x = 1"))
        for shown in (observation, info, end, pickle.dumps(env).decode("latin-1"), env.tools):
            assert not any(name in repr(shown) for name in functions), task_id
        env.close()


def test_the_reason_of_a_failure_holds_no_hidden_value():
    task_id = "generated/train/2/1"
    env = CodingEnv()
    env.reset(options={"task_id": task_id})
    name = blueprint(task_id).name
    code = f"def {name}(*arguments):\n    raise ValueError(str(arguments))\n"
    info = env.step(call("submit", code=code))[4]
    assert "(" not in info["verdict"]["reason"]
    env.close()


@pytest.mark.parametrize("split", ["train", "test"])
def test_trivial_submissions_are_never_paid(split):
    env = CodingEnv(split=split)
    for level in (1, 2, 3, 4, 5):
        for seed in range(2):
            task_id = f"generated/{split}/{level}/{seed}"
            prompt, _ = env.reset(options={"task_id": task_id})
            env.close()
            name = blueprint(task_id).name
            for text in (
                "None",
                "0",
                '""',
                "[]",
                "True",
                "SELECT 1",
                prompt,
                f"def {name}(*a): return a[0]",
                f"def {name}(*a): return None",
                f"def {name}(*a): return []",
                f"def {name}(*a): return 0",
                "import sys; print(sys.stdin.read())",
                "print('EMPTY')",
            ):
                env.reset(options={"task_id": task_id})
                assert env.step(call("submit", code=text))[1] == 0.0
    env.close()


def test_a_judge_may_be_asked_directly():
    import asyncio

    source = GeneratedSource()
    judge = CodingJudge(source)
    artifacts = {"solution.py": source.reference(TASK).encode()}
    assert asyncio.run(judge.grade(source.task(TASK), artifacts)).score == 1.0


# It goes wrong on some inputs in one way and on others in another.
WRONG_TWICE = """
{source}
_right = {name}
def {name}(*arguments):
    if len(repr(arguments)) % 2:
        raise KeyError("odd")
    return "wrong"
"""


@pytest.mark.parametrize("seed", range(4))
def test_equal_wrong_answers_get_equal_words(env, seed):
    task_id = f"generated/train/2/{seed}"
    plan = blueprint(task_id)
    text = WRONG_TWICE.format(source=reference_answer(task_id), name=plan.name)
    seen = set()
    for _ in range(4):
        env.reset(options={"task_id": task_id})
        observation, reward, *_, info = env.step(call("submit", code=text))
        seen.add((observation, reward, json.dumps(info["verdict"])))
    assert len(seen) == 1
