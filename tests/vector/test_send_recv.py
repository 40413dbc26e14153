"""`send`, `send_reset` and `recv`: every env at its own pace, nothing lost, mistakes named."""

import random
import signal
import threading

import numpy as np
import pytest

from execgym.envs.errors import InvalidOptionError
from execgym.vector import (
    AsyncVectorEnv,
    EnvInFlightError,
    EpisodeOverError,
    InvalidRequestError,
    NothingInFlightError,
    VectorEnvClosedError,
)


@pytest.fixture
def envs(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]] * 4)
    envs.reset(seed=1)
    yield envs
    for env in envs.get_attr("gate") if not envs.closed and not in_flight(envs) else ():
        env.set()
    envs.close()


def in_flight(envs):
    counts = envs.statistics()
    return counts.queued + counts.running + counts.ready


def gate_of(envs, index):
    return envs._hosts[index].env.gate


def test_a_slow_env_does_not_hold_the_others(envs):
    envs.send(["wait", "a", "b", "c"], [0, 1, 2, 3])
    batch = envs.recv(min_envs=3)
    assert sorted(batch.env_ids) == [1, 2, 3]
    gate_of(envs, 0).set()
    assert list(envs.recv().env_ids) == [0]


def test_a_batch_is_made_of_parallel_columns(envs):
    envs.send(["a", "b"], np.array([3, 1]))
    envs.send_reset([0], seeds=[7], options=[{"difficulty": 2}])
    batch = envs.recv(min_envs=3)
    assert len(batch) == 3
    assert batch.env_ids.dtype == np.int64
    assert batch.rewards.dtype == np.float64
    for column in (batch.terminations, batch.truncations, batch.resets, batch.dones):
        assert column.dtype == np.bool_
        assert column.shape == (3,)
    by_env = dict(zip(batch.env_ids.tolist(), range(3), strict=True))
    assert batch.resets[by_env[0]]
    assert not batch.resets[by_env[1]]
    assert batch.observations[by_env[0]].endswith("{'difficulty': 2}")
    assert batch.observations[by_env[3]].startswith("a 1")
    assert batch.infos[by_env[1]]["turn"] == 1


def test_equal_seeds_give_equal_episodes_whatever_the_face(every_kind):
    one = AsyncVectorEnv([every_kind["async"]] * 2)
    other = AsyncVectorEnv([every_kind["async"]] * 2)
    observations, _ = one.reset(seed=[5, 6])
    other.send_reset([0, 1], seeds=[5, 6])
    batch = other.recv(min_envs=2)
    assert {*zip(batch.env_ids.tolist(), batch.observations, strict=True)} == {
        *enumerate(observations)
    }
    one.close()
    other.close()


def test_a_timeout_loses_nothing(envs):
    envs.send(["wait", "a"], [0, 1])
    with pytest.raises(TimeoutError, match="of 2 envs"):
        envs.recv(min_envs=2, timeout=0.05)
    gate_of(envs, 0).set()
    batch = envs.recv(min_envs=2)
    assert sorted(batch.env_ids) == [0, 1]


@pytest.mark.parametrize("schedule", range(20))
def test_every_request_is_answered_once_whatever_the_schedule(every_kind, schedule):
    draw = random.Random(schedule)
    run_slots = draw.randint(1, 4)
    envs = AsyncVectorEnv([every_kind["async"]] * 5, run_slots=run_slots)
    envs.send_reset(range(5), seeds=range(5))
    flying = dict.fromkeys(range(5), "episode of")
    over = set(range(5))
    for number in range(25):
        idle = sorted(set(range(5)) - set(flying))
        chosen = draw.sample(idle, draw.randint(0, len(idle)))
        resets = [index for index in chosen if index in over]
        steps = [index for index in chosen if index not in over]
        envs.send_reset(resets)
        envs.send([f"{number} {index}" for index in steps], steps)
        flying |= dict.fromkeys(resets, "episode of")
        flying |= {index: f"{number} {index}" for index in steps}
        if flying:
            try:
                batch = envs.recv(draw.randint(1, 5), timeout=draw.choice([0.0, 0.001, None]))
            except TimeoutError:
                continue
            for place, index in enumerate(batch.env_ids.tolist()):
                assert batch.observations[place].startswith(flying.pop(index))
                (over.add if batch.dones[place] else over.discard)(index)
    if flying:
        assert sorted(envs.recv(min_envs=5).env_ids) == sorted(flying)
    assert envs.statistics().idle == 5
    envs.close()


def test_max_envs_keeps_the_rest_for_later(envs):
    envs.send(["a"] * 4, range(4))
    first = envs.recv(min_envs=1, max_envs=1)
    rest = envs.recv(min_envs=3)
    assert len(first) == 1
    assert sorted([*first.env_ids, *rest.env_ids]) == [0, 1, 2, 3]


def test_min_envs_beyond_what_is_in_flight_waits_for_all_of_it(envs):
    envs.send(["a"], [2])
    assert list(envs.recv(min_envs=4).env_ids) == [2]


def test_receiving_nothing_is_refused(envs):
    with pytest.raises(NothingInFlightError, match="send"):
        envs.recv()


def test_an_env_in_flight_is_refused_until_its_result_is_received(envs):
    envs.send(["wait"], [2])
    for ask in (lambda: envs.send(["a"], [2]), lambda: envs.send_reset([2])):
        with pytest.raises(EnvInFlightError, match="env 2"):
            ask()
    gate_of(envs, 2).set()
    while not envs.statistics().ready:
        pass
    with pytest.raises(EnvInFlightError, match="env 2"):
        envs.send(["a"], [2])
    envs.recv()
    envs.send_reset([2])
    envs.recv()


def test_a_refused_send_sends_nothing(envs):
    envs.send(["wait"], [0])
    with pytest.raises(EnvInFlightError):
        envs.send(["a", "b"], [1, 0])
    gate_of(envs, 0).set()
    envs.recv()
    assert in_flight(envs) == 0


def test_a_finished_env_is_refused_until_it_is_reset(envs):
    while True:
        envs.send(["a"], [1])
        if envs.recv().dones[0]:
            break
    with pytest.raises(EpisodeOverError, match=r"send_reset\(\[1\]\)"):
        envs.send(["a"], [1])
    envs.send_reset([1])
    envs.recv()
    envs.send(["a"], [1])
    assert envs.recv().infos[0]["turn"] == 1


@pytest.mark.parametrize(
    ("actions", "ids", "error"),
    [
        (["a"], [4], InvalidRequestError),
        (["a"], [-1], InvalidRequestError),
        (["a", "b"], [1, 1], InvalidRequestError),
        (["a"], [1.0], InvalidRequestError),
        (["a"], [True], InvalidRequestError),
        (["a", "b"], [1], InvalidRequestError),
        ("a", [1], InvalidRequestError),
        ([b"a"], [1], TypeError),
        ([None], [1], TypeError),
    ],
)
def test_wrong_arguments_of_send_are_refused(envs, actions, ids, error):
    with pytest.raises(error):
        envs.send(actions, ids)
    assert in_flight(envs) == 0


@pytest.mark.parametrize("arguments", [{"seeds": [1, 2]}, {"seeds": [-1]}, {"options": [{}, {}]}])
def test_wrong_arguments_of_send_reset_are_refused(envs, arguments):
    with pytest.raises(InvalidRequestError):
        envs.send_reset([0], **arguments)


@pytest.mark.parametrize(
    "arguments",
    [{"min_envs": 0}, {"min_envs": 5}, {"min_envs": 2, "max_envs": 1}, {"timeout": -1}],
)
def test_wrong_arguments_of_recv_are_refused(envs, arguments):
    envs.send(["a"], [0])
    with pytest.raises(InvalidRequestError):
        envs.recv(**arguments)
    assert len(envs.recv()) == 1


def test_options_that_an_env_can_check_are_refused_before_anything_is_sent(every_kind):
    class Choosy(every_kind["async"]):
        def check_options(self, options):
            if "colour" in options:
                raise InvalidOptionError("no colours")

    envs = AsyncVectorEnv([Choosy] * 2)
    with pytest.raises(InvalidOptionError, match="no colours"):
        envs.send_reset([0, 1], options=[{}, {"colour": 1}])
    with pytest.raises(NothingInFlightError):
        envs.recv()
    envs.close()


def test_the_options_of_the_caller_are_left_alone(every_kind):
    class Taker(every_kind["async"]):
        async def areset(self, *, seed=None, options=None):
            options.clear()
            return await super().areset(seed=seed)

    envs = AsyncVectorEnv([Taker] * 2)
    options = {"difficulty": 1}
    envs.reset(options=options)
    envs.send_reset([0], options=options)
    envs.recv()
    assert options == {"difficulty": 1}
    envs.close()


def test_lockstep_is_refused_while_results_wait(envs):
    envs.send(["wait"], [0])
    with pytest.raises(EnvInFlightError, match="env 0"):
        envs.step(["a"] * 4)
    with pytest.raises(EnvInFlightError, match="env 0"):
        envs.call("colour")
    gate_of(envs, 0).set()
    envs.recv()


def test_reset_is_the_way_back_to_a_known_state(envs):
    envs.send(["wait", "a"], [0, 1])
    gate_of(envs, 0).set()
    observations, _ = envs.reset(seed=1)
    assert len(observations) == 4
    envs.step(["a"] * 4)


def test_an_interrupt_leaves_the_result_for_the_next_recv(envs):
    envs.send(["wait"], [0])

    def press_control_c():
        while not envs._flights._changed._waiters:
            pass
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    interrupt = threading.Thread(target=press_control_c)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        envs.recv()
    interrupt.join()
    with pytest.raises(EnvInFlightError):
        envs.send(["a"], [0])
    gate_of(envs, 0).set()
    assert list(envs.recv().env_ids) == [0]


def test_everything_is_refused_after_close(envs):
    envs.close()
    for call in (
        envs.reset,
        envs.recv,
        envs.render,
        lambda: envs.step(["a"] * 4),
        lambda: envs.send(["a"], [0]),
        lambda: envs.send_reset([0]),
    ):
        with pytest.raises(VectorEnvClosedError):
            call()
