"""Hundreds of episodes of every kind leave nothing behind; `make soak` plays thousands."""

import asyncio
import importlib.util
import pathlib

import pytest

SOAK = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "soak.py"
EPISODES = 500


@pytest.fixture(scope="module")
def soak():
    spec = importlib.util.spec_from_file_location("soak", SOAK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_grows_over_500_episodes_of_every_kind(soak):
    asyncio.run(soak.play(0, 30, 2, "namespace"))
    # Other tests run beside this one, and some counts are the whole machine's.
    slack = soak.SHARED_SLACK
    before = soak.take()
    asyncio.run(soak.play(0, EPISODES, 4, "namespace"))
    after = soak.settled(before, slack, containers=False)
    assert after.grown(before, slack) == {}


def test_nothing_grows_over_episodes_in_containers_of_their_own(soak, base_image):
    backend = "docker-per-episode"
    asyncio.run(soak.play(0, 4, 2, backend))
    # Fewer than episodes: connections to the daemon and containers that wait ready may be more.
    slack = soak.dataclasses.replace(soak.SHARED_SLACK, descriptors=16, containers=2)
    before = soak.take(containers=True)
    asyncio.run(soak.play(0, 20, 2, backend))
    after = soak.settled(before, slack, containers=True)
    assert after.grown(before, slack) == {}


def test_a_leak_of_each_kind_is_seen(soak):
    before = soak.take()
    for name in before.__slots__:
        more = soak.dataclasses.replace(before, **{name: getattr(before, name) + 1})
        assert more.grown(before, soak.SLACK) == {name: 1}
        assert before.grown(more, soak.SLACK) == {}


def test_sandboxes_that_stay_open_are_seen(soak):
    async def main():
        spec = soak.SandboxSpec(backend="namespace")
        await (await soak.open_sandbox(spec)).close()
        before = soak.take()
        # More of them than the zygote keeps ready.
        sandboxes = [await soak.open_sandbox(spec) for _ in range(5)]
        grown = soak.take().grown(before, soak.SLACK)
        for sandbox in sandboxes:
            await sandbox.close()
        assert {"processes", "namespaces", "descriptors"} <= set(grown)

    asyncio.run(main())
