"""`ExecEnv`, by a small domain whose sandboxes and judge the tests steer."""

import asyncio
import copy
import pickle

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from execgym.envs import (
    EnvError,
    ExecEnv,
    InvalidOptionError,
    Task,
    ToolResult,
    UnknownTaskError,
    tool,
)
from execgym.envs import core as core_module
from execgym.envs.core import MAX_ACTION_LENGTH, MAX_OBSERVATION_LENGTH
from execgym.judging.verdict import Status, Verdict
from execgym.sandbox import (
    CommandResult,
    SandboxDiedError,
    SandboxUnavailableError,
    TemplateError,
    run_sync,
    shared_loop,
)


class Source:
    splits = ("train", "test")

    def levels(self, split):
        return (1, 2) if split == "train" else (1,)

    def ids(self, split, level=None):
        return None

    def sample(self, generator, split, level=None):
        level = int(generator.choice(self.levels(split))) if level is None else level
        return f"{split}/{level}/{generator.integers(1000)}"

    def task(self, task_id):
        split, _, rest = task_id.partition("/")
        if split not in self.splits:
            raise UnknownTaskError(f"there is no task {task_id!r}")
        return Task(
            id=task_id,
            domain="toy",
            prompt=f"Say the number of {task_id}.",
            level=int(rest[0]),
            split=split,
            files={"number.txt": task_id.encode()},
        )


class Judge:
    def __init__(self):
        self.answers = []

    async def grade(self, task, artifacts):
        answer = artifacts["answer"].decode()
        self.answers.append(answer)
        if answer == "unavailable":
            raise SandboxUnavailableError("no user namespaces")
        if answer == "crash":
            raise RuntimeError("hidden: 42")
        if answer == "hang":
            await asyncio.Event().wait()
        passed = answer == task.id.rpartition("/")[2]
        return Verdict(
            status=Status.PASS if passed else Status.FAIL,
            score=1.0 if passed else 0.0,
            reason="Right." if passed else "Wrong.",
            judge_version="toy-1",
        )


class Workspace:
    """Stands where a sandbox would; it runs nothing."""

    opened = 0
    live = 0
    fingerprint = "sha256:of the episode's"

    def __init__(self, spec):
        self.spec = spec
        self.files = {}
        self.closed = False
        Workspace.opened += 1
        Workspace.live += 1

    async def write_file(self, path, data):
        self.files[path] = data

    async def close(self):
        if not self.closed:
            Workspace.live -= 1
        self.closed = True


class ToyEnv(ExecEnv):
    domain = "toy"
    default_tool = "submit"
    failures = 0

    @tool
    async def look(self, how: str = "well"):
        """Look at the number.

        Args:
            how: "well", "die", "unavailable", "template", "hang", "crash" or "long".
        """
        if how == "unavailable":
            raise SandboxUnavailableError("no user namespaces")
        if how == "template":
            raise TemplateError("no module named nothing")
        sandbox = await self._workspace()
        if how == "die" or (how == "die once" and not self.failures):
            self.failures += 1
            raise SandboxDiedError("gone")
        if how == "crash":
            raise RuntimeError("a bug in the tool")
        if how == "hang":
            await asyncio.Event().wait()
        if how == "long":
            return ToolResult(observation="x" * (MAX_OBSERVATION_LENGTH + 1))
        data = sandbox.files["number.txt"]
        command = CommandResult(exit_code=3, stdout=data, stderr=b"\xff", wall_seconds=2.0)
        return ToolResult(observation=data.decode(), command=command)

    @tool
    async def submit(self, answer: str):
        """Hand in the number.

        Args:
            answer: The number.
        """
        return ToolResult(observation="", artifacts={"answer": answer.encode()})

    def _load_source(self, tasks):
        if tasks != "generated":
            raise InvalidOptionError(f"tasks {tasks!r}")
        return Source()

    def _make_judge(self, backend, runtime, image):
        return Judge()


class PatientEnv(ToyEnv):
    tools_are_read_only = True


@pytest.fixture(autouse=True)
def workspaces(monkeypatch):
    async def open_sandbox(spec):
        return Workspace(spec)

    async def image_fingerprint(spec):
        return "sha256:of the judge's"

    monkeypatch.setattr(core_module, "open_sandbox", open_sandbox)
    monkeypatch.setattr(core_module, "image_fingerprint", image_fingerprint)
    Workspace.opened = Workspace.live = 0
    yield Workspace
    assert Workspace.live == 0


@pytest.fixture
def env():
    env = ToyEnv(render_mode="ansi")
    env.reset(seed=1)
    yield env
    env.close()


def look(how="well"):
    return f'{{"name": "look", "arguments": {{"how": "{how}"}}}}'


def right(env):
    return env.task.id.rpartition("/")[2]


def test_a_right_submission_is_rewarded_and_ends_the_episode(env):
    observation, reward, terminated, truncated, info = env.step(right(env))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert observation == "The submission passed. Right."
    assert info["verdict"]["status"] == "pass"
    assert info["tool"] == "submit"


def test_a_wrong_submission_ends_the_episode_without_reward(env):
    _, reward, terminated, truncated, info = env.step("wrong")
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["reward_valid"] is True


def test_a_tool_shows_what_it_found(env, workspaces):
    observation, reward, terminated, truncated, info = env.step(look())
    assert observation == env.task.id
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["exit_code"], info["stdout"], info["stderr"]) == (3, env.task.id, "\\xff")
    assert workspaces.opened == 1


def test_an_env_that_ran_nothing_opened_no_sandbox(env, workspaces):
    env.step("wrong")
    assert workspaces.opened == 0


def test_the_sandbox_is_closed_when_the_episode_ends(env, workspaces):
    env.step(look())
    env.step("wrong")
    assert workspaces.live == 0


def test_the_sandbox_is_closed_by_reset_and_opened_again_lazily(env, workspaces):
    env.step(look())
    env.reset()
    assert workspaces.live == 0
    env.step(look())
    assert workspaces.opened == 2


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ('{"name": "fly"}', "there is no tool 'fly'"),
        ("x" * (MAX_ACTION_LENGTH + 1), f"the limit is {MAX_ACTION_LENGTH}"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_an_unusable_message_costs_a_step_and_says_why(env, action, says):
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.startswith("This message could not be used: ")
    assert says in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["turn"], info["tool"]) == (1, "")
    assert observation in env.observation_space


def test_a_nul_is_text_like_any_other(env):
    _, _, terminated, _, _ = env.step("\0")
    assert terminated


@pytest.mark.parametrize("action", [None, 1, b"a", ["a"], {"name": "look"}])
def test_an_action_that_is_no_string_is_the_callers_mistake(env, action):
    with pytest.raises(TypeError, match="an action is a str"):
        env.step(action)
    assert env.step(right(env))[1] == 1.0


def test_stepping_before_reset_and_after_the_end_is_refused():
    env = ToyEnv()
    with pytest.raises(ResetNeeded):
        env.step("a")
    with pytest.raises(ResetNeeded):
        env.task  # noqa: B018
    env.reset(seed=1)
    env.step("wrong")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step("a")
    env.close()


def test_an_unsubmitted_episode_is_truncated_at_max_turns():
    env = ToyEnv(max_turns=2)
    env.reset(seed=1)
    assert env.step(look())[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step(look())
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["verdict"]["reason"] == "Nothing was submitted."
    assert info["reward_valid"] is True
    env.close()


def test_an_unsubmitted_episode_is_judged_as_it_stands():
    class Standing(ToyEnv):
        async def _standing_artifacts(self):
            return {"answer": right(self).encode()}

    env = Standing(max_turns=1)
    env.reset(seed=1)
    _, reward, terminated, truncated, _ = env.step(look())
    assert (reward, terminated, truncated) == (1.0, False, True)
    env.close()


def test_the_time_of_an_episode_is_bounded():
    env = ToyEnv(episode_seconds=3.0)
    env.reset(seed=1)
    assert env.step(look())[3] is False
    assert env.step(look())[3] is True
    env.close()


def test_a_dead_sandbox_truncates_the_episode_without_a_verdict(env, workspaces):
    observation, reward, terminated, truncated, info = env.step(look("die"))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["reward_valid"] is False
    assert info["verdict"]["status"] == "judge_error"
    assert "does not count" in observation
    assert workspaces.live == 0
    env.reset()
    assert env.step(look())[3] is False


def test_where_tools_only_read_a_call_is_tried_again_in_a_new_sandbox(workspaces):
    env = PatientEnv()
    env.reset(seed=1)
    observation, *_ = env.step(look("die once"))
    assert observation == env.task.id
    assert workspaces.opened == 2
    assert env.step(look("die"))[3] is True
    env.close()


@pytest.mark.parametrize(
    ("how", "error"), [("unavailable", SandboxUnavailableError), ("template", TemplateError)]
)
def test_a_machine_or_template_without_sandboxes_is_raised(env, how, error):
    with pytest.raises(error):
        env.step(look(how))
    with pytest.raises(ResetNeeded):
        env.step(look())


def test_a_machine_that_cannot_judge_is_raised(env):
    with pytest.raises(SandboxUnavailableError):
        env.step("unavailable")


def test_a_judge_that_fails_twice_gives_no_reward_and_shows_nothing_hidden(env):
    observation, reward, terminated, truncated, info = env.step("crash")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["reward_valid"] is False
    assert "42" not in observation + str(info)
    assert env._judge.answers == ["crash", "crash"]


def test_a_bug_in_a_tool_is_raised_and_ends_the_episode(env, workspaces):
    with pytest.raises(RuntimeError, match="a bug in the tool"):
        env.step(look("crash"))
    assert workspaces.live == 0
    with pytest.raises(ResetNeeded):
        env.step(look())


@pytest.mark.parametrize("action", [look("hang"), "hang"])
def test_a_cancelled_step_ends_the_episode(env, workspaces, action):
    async def scenario():
        step = asyncio.create_task(env.astep(action))
        for _ in range(5):
            await asyncio.sleep(0)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step

    run_sync(scenario())
    assert workspaces.live == 0
    with pytest.raises(ResetNeeded):
        env.step(look())


def test_a_long_observation_is_cut_and_says_so(env):
    observation, *_ = env.step(look("long"))
    assert observation in env.observation_space
    assert observation.endswith("[the rest has been cut]")


def test_equal_seeds_give_equal_episodes():
    one, other = ToyEnv(), ToyEnv()
    other.reset(seed=9)
    for seed in (3, None, None):
        assert one.reset(seed=seed) == other.reset(seed=seed)
    one.close()
    other.close()


def test_reset_options_choose_the_task(env):
    _, info = env.reset(options={"task_id": "test/1/7"})
    assert info["task_id"] == "test/1/7"
    _, info = env.reset(options={"split": "train", "level": np.int64(2)})
    assert (info["split"], info["level"]) == ("train", 2)
    _, info = env.reset(options={"level": None})
    assert info["level"] in (1, 2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"taskid": "a"}, "Did you mean 'task_id'"),
        ({"split": "trian"}, "Did you mean 'train'"),
        ({"split": None}, "split None is not one of train, test"),
        ({"level": 7}, "level 7 is not one of 1, 2"),
        ({"level": "1"}, "level '1'"),
        ({"level": True}, "level True"),
        ({"split": "test", "level": 2}, "level 2 is not one of 1"),
        ({"task_id": "train/1/1", "level": 1}, "task_id names one task"),
        ({"task_id": 3}, "task_id must be a str"),
        ("test", "must be a mapping"),
    ],
)
def test_wrong_reset_options_are_refused(env, options, says):
    with pytest.raises(InvalidOptionError) as caught:
        env.reset(options=options)
    assert says in str(caught.value)
    with pytest.raises(InvalidOptionError):
        env.check_options(options)


def test_an_unknown_task_is_refused(env):
    with pytest.raises(UnknownTaskError, match="'nothing'") as caught:
        env.reset(options={"task_id": "nothing"})
    assert isinstance(caught.value, EnvError)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tasks": "humanevil"}, "humanevil"),
        ({"split": "valid"}, "split 'valid' is not one of train, test"),
        ({"split": ["train"]}, "split"),
        ({"level": 9}, "level 9 is not one of 1, 2"),
        ({"level": 1.0}, "level 1.0"),
        ({"max_turns": 0}, "max_turns"),
        ({"max_turns": 1.5}, "max_turns"),
        ({"backend": "namespaces"}, "Did you mean 'namespace'"),
        ({"backend": None}, "backend None is not one of auto, namespace"),
        ({"limits": {"cpu": 1.0}}, "limit 'cpu' is not one of cpu_seconds"),
        ({"limits": {"cpu_seconds": -1}}, "cpu_seconds must be a positive number, not -1"),
        ({"limits": {"processes": 1.5}}, "processes"),
        ({"limits": 3}, "limits must be a mapping"),
        ({"episode_seconds": float("nan")}, "episode_seconds"),
        ({"episode_seconds": True}, "episode_seconds"),
        ({"instructions": "no"}, "instructions must be True or False"),
        ({"usage": 1}, "usage must be True or False"),
        ({"render_mode": "human"}, "render_mode 'human' is not one of ansi"),
    ],
)
def test_wrong_arguments_are_refused(arguments, says):
    with pytest.raises(InvalidOptionError) as caught:
        ToyEnv(**arguments)
    assert says in str(caught.value)


def test_limits_override_those_of_the_task(workspaces):
    env = ToyEnv(limits={"cpu_seconds": 2.5})
    env.reset(seed=1)
    env.step(look())
    assert env._sandbox.spec.limits.cpu_seconds == 2.5
    assert env._sandbox.spec.limits.processes == env.task.limits.processes
    env.close()


def test_usage_is_reported_only_when_asked_for():
    env = ToyEnv(usage=True)
    _, info = env.reset(seed=1)
    assert info["usage"]["wall_seconds"] == 0.0
    *_, info = env.step(look())
    assert info["usage"]["wall_seconds"] == 2.0
    env.close()
    env = ToyEnv()
    assert "usage" not in env.reset(seed=1)[1]


def test_instructions_can_be_left_out():
    env = ToyEnv(instructions=False)
    observation, info = env.reset(seed=1)
    assert observation == f"Say the number of {info['task_id']}."
    observation, _ = ToyEnv().reset(seed=1)
    assert "- look(how: string): Look at the number." in observation
    assert "taken as submit" in observation


def test_the_transcript_escapes_control_characters(env):
    env.step("\x1b[31m{")
    text = env.render()
    assert "[action]\n\\u001b[31m{" in text
    assert text.startswith("[task]\n")
    assert ToyEnv().render() is None


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_clone_is_made_of_the_arguments_only(clone):
    env = ToyEnv(split="test", max_turns=3, limits={"cpu_seconds": 1.5}, render_mode="ansi")
    env.reset(seed=1)
    env.step(look())
    other = clone(env)
    assert other._sandbox is None
    assert other._arguments() == env._arguments()
    assert other.reset(seed=5) == ToyEnv(split="test").reset(seed=5)
    env.close()


def test_a_pickle_holds_nothing_of_the_judge(env):
    env._judge.secret = "the hidden answer"
    assert b"hidden" not in pickle.dumps(env)


def test_closing_twice_is_fine_and_reset_opens_it_again(env):
    env.step(look())
    env.close()
    env.close()
    with pytest.raises(ResetNeeded):
        env.step("a")
    env.reset(seed=1)
    env.step(look())


def test_it_works_inside_a_running_event_loop():
    async def notebook_cell():
        env = ToyEnv()
        env.reset(seed=1)
        env.step(look())
        result = env.step(right(env))
        env.close()
        return result

    assert asyncio.run(notebook_cell())[1] == 1.0


def test_the_sync_face_on_the_shared_loop_itself_is_refused():
    async def wrong():
        ToyEnv().reset(seed=1)

    with pytest.raises(RuntimeError, match="await the async one"):
        asyncio.run_coroutine_threadsafe(wrong(), shared_loop()).result(30)


def test_infos_are_new_objects_of_stable_types(env):
    infos = [env.step(look())[4] for _ in range(2)]
    assert infos[0] is not infos[1]
    kinds = [{key: type(value) for key, value in info.items()} for info in infos]
    assert kinds[0] == kinds[1]
    *_, last = env.step("wrong")
    assert None not in last.values()
    assert {key: type(last[key]) for key in kinds[0]} == kinds[0]


def test_info_names_the_image_once_something_has_run_in_it(env):
    _, info = env.reset(seed=1)
    assert info["image"] == ""
    *_, info = env.step(look())
    assert info["image"] == Workspace.fingerprint
    *_, info = env.step(right(env))
    assert info["image"] == Workspace.fingerprint
    _, info = env.reset(seed=1)
    assert info["image"] == ""


def test_info_names_the_image_where_only_the_judge_has_run(env):
    *_, info = env.step(right(env))
    assert info["image"] == "sha256:of the judge's"
