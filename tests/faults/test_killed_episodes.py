"""A sandbox's own container, or the daemon, is killed or hangs: a typed error, and it goes on."""

import asyncio
import gc
import os
import signal

import gymnasium
import pytest
from daemon_proxy import proxied

import execgym  # noqa: F401
from execgym.sandbox import (
    Limits,
    SandboxDiedError,
    SandboxError,
    SandboxSpec,
    docker_engine,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.docker_engine import engines

pytestmark = pytest.mark.usefixtures("base_image")
# Limits that nothing else has, so that none of these containers is another test's.
SPEC = SandboxSpec(backend="docker-per-episode", limits=Limits(processes=41))
SLEEP = "import time\ntime.sleep(1000)"
HANG_SECONDS = 0.5


def api():
    return engines.get()._api


def exists(container):
    return any(each["Id"] == container for each in engines.get().owned_containers())


async def is_served_again():
    async with await open_sandbox(SPEC) as sandbox:
        return (await sandbox.run_python("print(1)")).stdout == b"1\n"


async def until_it_dies(sandbox):
    while True:
        await sandbox.stats()


HITS = {
    "docker kill": lambda container: api().kill(container),
    "docker rm": lambda container: api().remove_container(container, force=True),
    "guest": lambda container: os.kill(
        api().inspect_container(container)["State"]["Pid"], signal.SIGKILL
    ),
}


@pytest.mark.parametrize("how", HITS)
@pytest.mark.parametrize("step", ["idle", "running", "receiving"])
def test_a_container_that_is_killed_is_a_death_and_the_next_one_opens(eventually, how, step):
    if how == "guest" and os.geteuid() != 0:
        pytest.skip("only root may kill what another user runs")

    async def main():
        sandbox = await open_sandbox(SPEC)
        container = sandbox._episode.container
        call = None
        if step == "receiving":
            call = asyncio.create_task((await sandbox.start_python(SLEEP)).receive())
        elif step == "running":
            call = asyncio.create_task(sandbox.run_python(SLEEP))
        await asyncio.sleep(0)
        await asyncio.to_thread(HITS[how], container)
        async with asyncio.timeout(30):
            if call is not None:
                with pytest.raises(SandboxDiedError):
                    await call
            with pytest.raises(SandboxDiedError):
                await until_it_dies(sandbox)
            assert await is_served_again()
        await sandbox.close()
        return container

    container = run_sync(main())
    eventually(lambda: not exists(container))


def test_a_paused_container_is_given_up_and_removed(short_limits, eventually):
    async def main():
        sandbox = await open_sandbox(SPEC)
        container = sandbox._episode.container
        await asyncio.to_thread(api().pause, container)
        with pytest.raises(SandboxDiedError, match="did not answer"):
            await sandbox.run_python("pass", limits=Limits(wall_seconds=0.1, processes=41))
        await sandbox.close()
        return container

    container = run_sync(main())
    eventually(lambda: not exists(container))
    assert run_sync(is_served_again())


def test_an_episode_whose_container_is_removed_is_truncated_and_the_next_one_begins():
    env = gymnasium.make(
        "execgym/Coding-v0", backend="docker-per-episode", disable_env_checker=True
    )
    look = '{"name": "run_python", "arguments": {"code": "print(6 * 7)"}}'
    env.reset(seed=1)
    assert "42" in env.step(look)[0]
    ours = [
        each["Id"]
        for each in engines.get().owned_containers()
        if each["Labels"]["execgym.owner"] == str(os.getpid())
    ]
    for container in ours:
        engines.get().remove(container)
    _, reward, terminated, truncated, info = env.step(look)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["reward_valid"] is False
    env.reset(seed=2)
    assert "42" in env.step(look)[0]
    env.close()


@pytest.fixture
def proxy(docker_daemon, tmp_path, monkeypatch):
    """The daemon, reached by a socket that can be lost."""
    with proxied(tmp_path, docker_daemon) as made:
        monkeypatch.setattr(engines, "_engine", None)
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made
        engines.forget()
        # A socket that was lost is told of here, and not in another test.
        gc.collect()


STEPS = ("/info", "/images/", "/containers/create", "/attach", "/start")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("how", ["refused", "hung"])
def test_a_daemon_that_fails_at_a_step_is_told_in_time(proxy, how, step, eventually, monkeypatch):
    async def main():
        assert await is_served_again()
        getattr(proxy, how).add(step)
        with monkeypatch.context() as patch:
            if how == "hung":
                patch.setattr(docker_engine, "_ANSWER_SECONDS", HANG_SECONDS)
                engines.forget()
            async with asyncio.timeout(30):
                with pytest.raises(SandboxError):
                    await open_sandbox(spec)
        getattr(proxy, how).clear()
        # A loaded machine takes longer than the limit that is to be hit.
        engines.forget()
        proxy.cut()
        assert await is_served_again()

    # A kind of its own each time, of which none waits ready.
    number = 42 + STEPS.index(step) + 10 * (how == "hung")
    spec = SandboxSpec(backend=SPEC.backend, limits=Limits(processes=number))
    run_sync(main())
    eventually(lambda: not never_started())


def never_started():
    """Return this process's containers that were created and have not started."""
    return [
        each
        for each in engines.get().owned_containers()
        if each["State"] == "created" and each["Labels"]["execgym.owner"] == str(os.getpid())
    ]


def test_a_daemon_that_is_lost_ends_its_sandboxes_and_is_used_again_when_it_is_back(proxy):
    async def main():
        sandbox = await open_sandbox(SPEC)
        proxy.stop()
        async with asyncio.timeout(30):
            with pytest.raises(SandboxDiedError):
                await until_it_dies(sandbox)
            with pytest.raises(SandboxError):
                await open_sandbox(SandboxSpec(backend=SPEC.backend, limits=Limits(processes=61)))
            proxy.start()
            assert await is_served_again()
        await sandbox.close()

    run_sync(main())


def test_frames_that_are_cut_in_the_middle_are_a_death(proxy):
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            call = asyncio.create_task(sandbox.write_file("a", bytes(8_000_000)))
            await asyncio.sleep(0)
            proxy.cut()
            async with asyncio.timeout(30):
                with pytest.raises(SandboxDiedError):
                    await call

    run_sync(main())
