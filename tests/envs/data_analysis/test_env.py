"""The tools and the episode: session, files, submission, and what may be seen."""

import json
import pickle

import gymnasium
import pytest

import execgym.envs.data_analysis.env
from execgym.envs.data_analysis.gold import reference_answer
from execgym.envs.data_analysis.tasks import HIDDEN, case_of, generate


@pytest.fixture
def env():
    made = gymnasium.make("execgym/DataAnalysis-v0", max_turns=8).unwrapped
    yield made
    made.close()


def call(env, name, **arguments):
    return env.step(json.dumps({"name": name, "arguments": arguments}))


def test_a_session_reads_the_files_and_keeps_its_variables(env, find_task):
    env.reset(options={"task_id": find_task("program", 1)})
    observation, *_ = call(env, "run_python", code="import glob\nglob.glob('input/*')")
    assert "input/" in observation
    observation, *_ = call(env, "run_python", code="import pandas as pd\nt = pd.read_csv(_[0])")
    assert observation == "(no output)"
    observation, reward, terminated, truncated, info = call(env, "run_python", code="len(t) > 9")
    assert observation == "True"
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["exit_code"], info["stdout"]) == (0, "True\n")


def test_an_error_names_its_line_and_the_session_goes_on(env):
    env.reset(seed=1)
    observation, *_, info = call(env, "run_python", code="x = 1\nx / 0")
    assert "line 2" in observation
    assert "ZeroDivisionError" in observation
    assert info["exit_code"] == 1
    assert call(env, "run_python", code="x")[0] == "1"


def test_the_end_of_a_session_is_told_and_files_stay(env):
    env.reset(seed=1)
    call(env, "write_file", path="notes.txt", content="kept")
    observation, *_, info = call(env, "run_python", code="x = 1\nimport os\nos._exit(7)")
    assert "The session has ended" in observation
    assert "variables are gone" in observation
    assert info["exit_code"] == 7
    observation, *_ = call(env, "run_python", code="'x' in globals(), open('notes.txt').read()")
    assert observation == "(False, 'kept')"


def test_another_episode_has_another_session(env):
    env.reset(seed=1)
    call(env, "run_python", code="x = 1")
    env.reset(seed=1)
    assert call(env, "run_python", code="'x' in globals()")[0] == "False"


@pytest.mark.parametrize("kind", ["program", "answer", "cleaning"])
def test_the_reference_ends_an_episode_with_full_reward(env, find_task, kind):
    task_id = find_task(kind, 4)
    env.reset(options={"task_id": task_id})
    observation, reward, terminated, truncated, info = call(
        env, "submit", content=reference_answer(task_id)
    )
    assert (reward, terminated, truncated) == (1.0, True, False), observation
    assert info["verdict"]["status"] == "pass"


@pytest.mark.parametrize(("kind", "name"), [("program", "analysis.py"), ("answer", "answer.json")])
def test_a_file_can_be_handed_in_with_a_session_alive(env, find_task, kind, name):
    task_id = find_task(kind, 1)
    env.reset(options={"task_id": task_id})
    call(env, "run_python", code="x = 1")
    assert "nothing to submit" in call(env, "submit")[0]
    assert call(env, "run_python", code="'x' in globals()")[0] == "False"
    call(env, "write_file", path=name, content=reference_answer(task_id))
    assert call(env, "read_file", path=name)[0] == reference_answer(task_id)
    assert call(env, "submit")[1:3] == (1.0, True)


def test_a_fenced_program_is_a_submission(env, find_task):
    task_id = find_task("program", 1)
    env.reset(options={"task_id": task_id})
    assert env.step(f"Here it is.\n```python\n{reference_answer(task_id)}```")[1] == 1.0


def test_an_answer_in_a_fence_is_a_submission(env, find_task):
    task_id = find_task("answer", 1)
    env.reset(options={"task_id": task_id})
    assert env.step(f"```json\n{reference_answer(task_id)}\n```")[1] == 1.0


def test_an_episode_without_a_submission_is_judged_as_it_stands(find_task):
    env = gymnasium.make("execgym/DataAnalysis-v0", max_turns=1).unwrapped
    task_id = find_task("program", 1)
    env.reset(options={"task_id": task_id})
    *_, truncated, info = call(
        env, "write_file", path="analysis.py", content=reference_answer(task_id)
    )
    assert truncated
    assert info["verdict"]["status"] == "pass"
    env.close()


def test_files_that_leave_the_workspace_are_refused(env):
    env.reset(seed=1)
    assert "not read" in call(env, "read_file", path="../etc/passwd")[0]
    assert "not written" in call(env, "write_file", path="/tmp/x", content="")[0]


@pytest.mark.parametrize("kind", ["program", "cleaning", "answer", "model"])
def test_no_gold_is_reachable_from_what_a_learner_holds(env, find_task, kind):
    task_id = find_task(kind, 4)
    observation, info = env.reset(options={"task_id": task_id})
    task = generate(task_id)
    gold = reference_answer(task_id)
    seen = [observation, json.dumps(info), repr(env.task), repr(pickle.dumps(env))]
    assert not any(gold in text for text in seen)
    for name in HIDDEN:
        case = case_of(task, name)
        path = next(path for path in case.files if path.startswith("input/"))
        assert case.files[path] != env.task.files[path]
        assert not any(repr(case.files[path])[3000:3200] in text for text in seen)


def test_the_package_is_not_there_for_model_code(env):
    env.reset(seed=1)
    observation, *_ = call(env, "run_python", code="import execgym.envs.data_analysis.tasks")
    assert "Error" in observation
    assert execgym.envs.data_analysis.env.__file__
