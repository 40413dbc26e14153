"""An env that fails, hangs or is closed never takes the others with it."""

import asyncio
import contextlib
import gc
import logging
import sys
import threading
import time
import weakref

import gymnasium
import numpy as np
import pytest

from execgym.envs.errors import InvalidOptionError, UnknownTaskError
from execgym.sandbox import SandboxUnavailableError, run_sync, shared_loop
from execgym.vector import AsyncVectorEnv, EpisodeOverError, VectorEnvClosedError

KINDS = ("plain", "async")


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_step_is_a_truncated_transition_that_does_not_count(every_kind, kind):
    envs = AsyncVectorEnv([every_kind[kind]] * 3)
    envs.reset(seed=1)
    observations, rewards, terminations, truncations, infos = envs.step(["a", "fail", "c"])
    assert not terminations.any()
    assert truncations.tolist() == [False, True, False]
    assert rewards[1] == 0.0
    assert infos["reward_valid"].tolist() == [True, False, True]
    assert infos["error"]["type"][1] == "RuntimeError"
    assert infos["error"]["message"][1] == "the env broke"
    assert infos["_error"].tolist() == [False, True, False]
    assert all(isinstance(text, str) for text in observations)
    assert envs.statistics().errors == {"RuntimeError": 1}
    envs.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_env_is_closed_and_made_anew_before_its_next_reset(every_kind, kind):
    made = []

    def make():
        made.append(every_kind[kind]())
        return made[-1]

    envs = AsyncVectorEnv([make] * 2)
    envs.reset(seed=1)
    envs.step(["fail", "b"])
    observations, _, _, truncations, _ = envs.step(["a", "b"])
    assert observations[0].startswith("episode of")
    assert not truncations[0]
    assert len(made) == 3
    assert [env.closings for env in made] == [1, 0, 0]
    envs.close()


def test_a_failed_env_goes_on_with_its_random_generator(every_kind):
    def third_observation():
        envs = AsyncVectorEnv([every_kind["async"]])
        envs.reset(seed=4)
        envs.step(["fail"])
        observations, *_ = envs.step(["a"])
        envs.close()
        return observations

    assert third_observation() == third_observation()


def test_a_failing_env_is_told_in_its_batch(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]] * 2)
    envs.reset(seed=1)
    envs.send(["fail", "b"], [0, 1])
    batch = envs.recv(min_envs=2)
    index = batch.env_ids.tolist().index(0)
    assert batch.truncations[index]
    assert batch.infos[index]["reward_valid"] is False
    assert not batch.truncations[1 - index]
    with pytest.raises(EpisodeOverError):
        envs.send(["a"], [0])
    envs.send_reset([0])
    assert not envs.recv().truncations[0]
    envs.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "result",
    [None, ("", 0.0, False, False), ("", "much", False, False, {}), ("", 0.0, False, False, [])],
)
def test_a_malformed_result_is_a_failure_of_that_env(every_kind, kind, result):
    class Malformed(every_kind[kind]):
        def advance(self, action):
            return result if action == "malformed" else super().advance(action)

    envs = AsyncVectorEnv([Malformed] * 2)
    envs.reset(seed=1)
    *_, truncations, _infos = envs.step(["malformed", "b"])
    assert truncations.tolist() == [True, False]
    envs.close()


def test_an_env_of_arrays_fails_with_an_observation_of_its_space(every_kind):
    class Broken(every_kind["box"]):
        def reset(self, *, seed=None, options=None):
            if seed == 1:
                raise OSError("broken")
            return super().reset(seed=seed)

    envs = AsyncVectorEnv([Broken] * 2)
    observations, infos = envs.reset(seed=[1, 2])
    assert observations in envs.observation_space
    assert infos["error"]["type"].tolist() == ["OSError", None]
    envs.close()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration("end")])
@pytest.mark.parametrize("kind", KINDS)
def test_no_exception_of_an_env_ends_a_thread_or_the_loop(every_kind, kind, error):
    class Exiting(every_kind[kind]):
        def advance(self, action):
            if action == "exit":
                raise error
            return super().advance(action)

        def close(self):
            raise error

        async def aclose(self):
            raise error

    if kind == "plain":
        del Exiting.aclose
    envs = AsyncVectorEnv([Exiting] * 2, run_slots=1)
    envs.reset(seed=1)
    *_, truncations, _infos = envs.step(["exit", "b"])
    assert truncations.tolist() == [True, False]
    envs.step(["a", "b"])
    envs.close()


def test_in_same_step_mode_a_failed_env_begins_anew_at_once(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]] * 2, autoreset_mode="SameStep")
    envs.reset(seed=1)
    observations, _, _, truncations, infos = envs.step(["fail", "b"])
    assert truncations.tolist() == [True, False]
    assert observations[0].startswith("episode of")
    assert infos["final_info"]["error"]["type"][0] == "RuntimeError"
    envs.close()


def test_one_failing_reset_is_told_and_tried_again(every_kind):
    class Moody(every_kind["async"]):
        broken = True

        def begin(self, options):
            if self.mood == "bad" and Moody.broken:
                Moody.broken = False
                raise OSError("not today")
            return super().begin(options)

    def make(mood):
        env = Moody()
        env.mood = mood
        return env

    envs = AsyncVectorEnv([lambda: make("good"), lambda: make("bad")])
    observations, infos = envs.reset(seed=1)
    assert observations[1] == ""
    assert infos["error"]["type"].tolist() == [None, "OSError"]
    observations, _, _, truncations, _ = envs.step(["a", "b"])
    assert observations[1].startswith("episode of")
    assert not truncations.any()
    envs.close()


def test_when_every_env_fails_to_begin_the_error_is_raised(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]] * 2)
    with pytest.raises(RuntimeError, match="cannot begin"):
        envs.reset(options={"fail": True})
    envs.reset(seed=1)
    envs.step(["a", "b"])
    envs.close()


def test_refused_options_are_raised_and_leave_the_env_as_it_is(every_kind):
    made = []

    class Choosy(every_kind["async"]):
        def __init__(self):
            super().__init__()
            made.append(self)

        def begin(self, options):
            if (options or {}).get("task_id") == "nothing":
                raise UnknownTaskError("no task 'nothing'")
            return super().begin(options)

    envs = AsyncVectorEnv([Choosy] * 2)
    with pytest.raises(UnknownTaskError) as caught:
        envs.reset(options={"task_id": "nothing"})
    assert caught.value.__notes__ == ["raised by env 0 of 2"]
    envs.send_reset([1], options={"task_id": "nothing"})
    batch = envs.recv()
    assert batch.infos[0]["error"]["type"] == "UnknownTaskError"
    assert batch.truncations[0]
    envs.reset(seed=1)
    assert len(made) == 2
    envs.close()


def test_a_machine_without_sandboxes_is_said_once_and_loses_nothing(every_kind):
    class Homeless(every_kind["async"]):
        def advance(self, action):
            raise SandboxUnavailableError("no user namespaces")

    envs = AsyncVectorEnv([Homeless] * 2)
    envs.reset(seed=1)
    envs.send(["a", "b"], [0, 1])
    with pytest.raises(SandboxUnavailableError, match="no user namespaces"):
        envs.recv(min_envs=2)
    batch = envs.recv(min_envs=2)
    assert batch.truncations.all()
    envs.close()


def test_close_cancels_what_runs_and_closes_every_env_once(every_kind):
    made = []

    def make():
        made.append(every_kind["async"]())
        return made[-1]

    envs = AsyncVectorEnv([make] * 3)
    envs.reset(seed=1)
    envs.send(["wait", "wait"], [0, 1])
    while envs.statistics().running < 2:
        pass
    envs.close()
    envs.close()
    assert [env.cancelled for env in made] == [True, True, False]
    assert [env.closings for env in made] == [1, 1, 1]


def test_close_is_bounded_by_its_timeout(every_kind):
    release = threading.Event()

    class Stuck(every_kind["plain"]):
        def advance(self, action):
            release.wait()

    envs = AsyncVectorEnv([Stuck], run_slots=1)
    envs.reset(seed=1)
    envs.send(["a"], [0])
    started = time.monotonic()
    envs.close(timeout=0.1)
    assert time.monotonic() - started < 30
    assert envs.closed
    release.set()


def test_an_env_that_will_not_be_cancelled_does_not_keep_close_waiting(every_kind):
    release = asyncio.Event()

    class Stubborn(every_kind["async"]):
        async def astep(self, action):
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return self.advance(action)

    made = []

    def make():
        made.append(Stubborn())
        return made[-1]

    envs = AsyncVectorEnv([make] * 2)
    envs.reset(seed=1)
    envs.send(["a"], [0])
    while not envs.statistics().running:
        pass
    envs.close(timeout=0.2)
    assert [env.closings for env in made] == [1, 1]
    shared_loop().call_soon_threadsafe(release.set)


def test_closing_wakes_a_thread_that_waits(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]])
    envs.reset(seed=1)
    envs.send(["wait"], [0])
    seen = []

    def wait():
        try:
            envs.recv()
        except VectorEnvClosedError as error:
            seen.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    envs.close()
    thread.join(30)
    assert not thread.is_alive()
    assert len(seen) == 1


def test_an_env_that_fails_to_close_does_not_keep_the_others_open(every_kind, caplog):
    made = []

    class Bad(every_kind["async"]):
        def __init__(self):
            super().__init__()
            made.append(self)

        async def aclose(self):
            await super().aclose()
            raise OSError("stuck")

    envs = AsyncVectorEnv([Bad] * 3)
    with caplog.at_level(logging.WARNING):
        envs.close()
    assert [env.closings for env in made] == [1, 1, 1]
    assert "failed to close" in caplog.text


def test_a_forgotten_vector_env_closes_its_envs(every_kind):
    made = []

    def make():
        made.append(every_kind["async"]())
        return made[-1]

    envs = AsyncVectorEnv([make] * 2)
    envs.reset(seed=1)
    gone = weakref.ref(envs)
    del envs
    gc.collect()
    assert gone() is None
    deadline = time.monotonic() + 30
    while [env.closings for env in made] != [1, 1] and time.monotonic() < deadline:
        run_sync(_nothing())
    assert [env.closings for env in made] == [1, 1]


async def _nothing():
    return None


def test_envs_with_other_spaces_are_refused_and_closed(every_kind):
    made = []

    def make():
        made.append(every_kind["async"]())
        return made[-1]

    with pytest.raises(ValueError, match="observation_space of env 0"):
        AsyncVectorEnv([make, make, every_kind["box"]])
    assert [env.closings for env in made] == [1, 1]


def test_an_env_that_cannot_be_made_closes_those_made_before(every_kind):
    made = []

    def make():
        if made:
            raise OSError("no more")
        made.append(every_kind["async"]())
        return made[-1]

    with pytest.raises(OSError, match="no more"):
        AsyncVectorEnv([make, make])
    assert [env.closings for env in made] == [1]


def test_no_envs_are_refused():
    with pytest.raises(ValueError, match="at least one env_fn"):
        AsyncVectorEnv([])


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_wrong_number_of_run_slots_is_refused(every_kind, count):
    with pytest.raises(ValueError, match="run_slots"):
        AsyncVectorEnv([every_kind["async"]], run_slots=count)


@pytest.mark.parametrize("seed", [-1, "a", True, [1], [1, -2], 1.5])
def test_wrong_seeds_are_refused(every_kind, seed):
    envs = AsyncVectorEnv([every_kind["async"]] * 2)
    with pytest.raises(ValueError, match="seed"):
        envs.reset(seed=seed)
    envs.close()


def test_one_string_for_all_envs_is_refused(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]] * 2)
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="one str an env"):
        envs.step("ab")
    with pytest.raises(TypeError, match="env 1 must be a str"):
        envs.step(["a", 1])
    envs.close()


def test_attributes_are_read_set_and_called_in_each_env(every_kind):
    envs = AsyncVectorEnv([lambda: every_kind["async"](render_mode="ansi")] * 2)
    envs.reset(seed=1)
    assert envs.render_mode == "ansi"
    assert envs.render() == ("turn 0", "turn 0")
    envs.set_attr("colour", "blue")
    assert envs.get_attr("colour") == ("blue", "blue")
    envs.set_attr("colour", ["green", "grey"])
    assert envs.call("colour") == ("green", "grey")
    assert envs.np_random_seed == (1, 2)
    assert all(isinstance(each, np.random.Generator) for each in envs.np_random)
    assert envs.call("areset", seed=3)[0][1]["task_id"].startswith("t")
    with pytest.raises(ValueError, match="length 2"):
        envs.set_attr("colour", ["green"])
    with pytest.raises(AttributeError):
        envs.call("no_such_thing")
    envs.close()


def test_wrapped_envs_run_too(every_kind):
    def make():
        return gymnasium.wrappers.TimeLimit(every_kind["async"](), max_episode_steps=1)

    envs = AsyncVectorEnv([make] * 5)
    envs.reset(seed=1)
    *_, terminations, truncations, _infos = envs.step(["a"] * 5)
    assert (terminations | truncations).all()
    envs.close()


def test_invalid_options_are_value_errors():
    assert issubclass(InvalidOptionError, ValueError)
    assert sys.modules["execgym.vector"]
