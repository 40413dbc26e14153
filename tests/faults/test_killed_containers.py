"""A pod's container or zygote is killed or stopped: a typed error, and the next sandbox opens."""

import asyncio
import os
import signal

import pytest

from execgym.sandbox import (
    Limits,
    SandboxDiedError,
    SandboxSpec,
    SandboxStartError,
    Template,
    docker_pod,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.docker_engine import engines
from execgym.sandbox.docker_pod import PodKind

HIT = Template(modules=("quopri",))
"""A template that no other test uses: here its container is killed."""
SPEC = SandboxSpec(backend="docker", template=HIT)
SLEEP = "import time\ntime.sleep(1000)"
pytestmark = pytest.mark.usefixtures("base_image")


@pytest.fixture(autouse=True)
def no_pod_stays():
    yield
    kind = PodKind(HIT, "")
    if (pod := docker_pod._pods.get(kind)) is not None:
        docker_pod._pods.forget(kind, pod)


def pod():
    return docker_pod._pods.get(PodKind(HIT, ""))


def zygote():
    return engines.get()._api.inspect_container(pod()._container)["State"]["Pid"]


def exists(container):
    return any(each["Id"] == container for each in engines.get().owned_containers())


async def is_served_again():
    async with await open_sandbox(SPEC) as sandbox:
        return (await sandbox.run_python("print(1)")).stdout == b"1\n"


async def until_it_dies(sandbox):
    while True:
        await sandbox.stats()


HITS = {
    "docker kill": lambda: engines.get()._api.kill(pod()._container),
    "docker rm": lambda: engines.get()._api.remove_container(pod()._container, force=True),
    "zygote": lambda: os.kill(zygote(), signal.SIGKILL),
}


@pytest.mark.parametrize("how", HITS)
@pytest.mark.parametrize("step", ["idle", "running", "receiving"])
def test_a_pod_that_is_killed_is_a_death_and_is_replaced(eventually, how, step):
    if how == "zygote" and os.geteuid() != 0:
        pytest.skip("only root may kill what another user runs")

    async def main():
        sandbox = await open_sandbox(SPEC)
        container = pod()._container
        process = await sandbox.start_python(SLEEP) if step == "receiving" else None
        if process is not None:
            call = asyncio.create_task(process.receive())
        elif step == "running":
            call = asyncio.create_task(sandbox.run_python(SLEEP))
        else:
            call = None
        await asyncio.sleep(0)
        await asyncio.to_thread(HITS[how])
        async with asyncio.timeout(30):
            if call is not None:
                with pytest.raises(SandboxDiedError):
                    await call
            with pytest.raises(SandboxDiedError):
                await until_it_dies(sandbox)
            assert await is_served_again()
        assert pod()._container != container
        await sandbox.close()
        return container

    container = run_sync(main())
    eventually(lambda: not exists(container))


def test_a_paused_pod_is_given_up_and_replaced(short_limits, eventually):
    async def main():
        sandbox = await open_sandbox(SPEC)
        container = pod()._container
        await asyncio.to_thread(engines.get()._api.pause, container)
        with pytest.raises(SandboxDiedError, match="did not answer"):
            await sandbox.run_python("pass", limits=Limits(wall_seconds=0.1))
        with pytest.raises(SandboxStartError):
            await open_sandbox(SPEC)
        assert await is_served_again()
        return container

    container = run_sync(main())
    eventually(lambda: not exists(container))
