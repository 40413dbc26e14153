"""A sandbox is opened on the backend that was asked for, or not at all."""

import itertools

import pytest

from execgym.sandbox import (
    Limits,
    SandboxSpec,
    SandboxStartError,
    SandboxUnavailableError,
    SnapshotError,
    Template,
    open_sandbox,
    open_sandboxes,
    run_sync,
)
from execgym.sandbox import backend as backend_module
from execgym.sandbox.spec import BACKENDS


@pytest.mark.parametrize("name", [name for name in BACKENDS if name.startswith("docker")])
def test_a_backend_that_cannot_run_is_never_another_one(no_daemon, monkeypatch, name):
    async def open_another(_):
        raise AssertionError("another backend was taken")

    monkeypatch.setattr(backend_module, "open_namespace_sandbox", open_another)
    with pytest.raises(SandboxUnavailableError, match="Docker"):
        run_sync(open_sandbox(SandboxSpec(backend=name)))


@pytest.mark.parametrize("name", ["auto", "docker", "docker-per-episode"])
def test_the_image_of_a_template_is_taken_in_docker_however_docker_was_chosen(
    base_image, monkeypatch, name
):
    async def refuse(_):
        raise SandboxUnavailableError("not here")

    monkeypatch.setattr(backend_module, "open_namespace_sandbox", refuse)
    monkeypatch.setattr(backend_module, "_choice", backend_module._Choice())
    template = Template(docker_image="execgym/nothing:latest")
    with pytest.raises(SandboxUnavailableError, match="execgym images build nothing"):
        run_sync(open_sandbox(SandboxSpec(backend=name, template=template)))


async def closed(sandboxes):
    for sandbox in sandboxes:
        await sandbox.close()


def test_many_sandboxes_begin_from_one_snapshot_and_are_apart(backend):
    spec = SandboxSpec(backend=backend)

    async def fork():
        async with await open_sandbox(spec) as stem:
            await stem.write_file("folder/notes", b"from the stem")
            snapshot = await stem.snapshot()
        branches = await open_sandboxes(spec, 3, snapshot=snapshot)
        for number, branch in enumerate(branches):
            assert await branch.read_file("folder/notes") == b"from the stem"
            await branch.write_file("folder/notes", b"%d" % number)
        found = [await branch.read_file("folder/notes") for branch in branches]
        await closed(branches)
        return found

    assert run_sync(fork()) == [b"0", b"1", b"2"]


def test_many_sandboxes_begin_empty_without_a_snapshot():
    async def fork():
        branches = await open_sandboxes(SandboxSpec(), 20)
        files = [await branch.list_files() for branch in branches]
        await closed(branches)
        return files

    assert run_sync(fork()) == [()] * 20


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "2", None])
def test_a_number_of_sandboxes_that_is_none_is_refused(count):
    with pytest.raises(ValueError, match="count must be"):
        run_sync(open_sandboxes(SandboxSpec(), count))


def test_bytes_that_are_no_snapshot_open_nothing(monkeypatch):
    async def open_none(_):
        raise AssertionError("a sandbox was opened")

    monkeypatch.setattr(backend_module, "open_sandbox", open_none)
    with pytest.raises(SnapshotError, match="no snapshot"):
        run_sync(open_sandboxes(SandboxSpec(), 2, snapshot=b"none"))


def test_sandboxes_that_cannot_all_be_opened_leave_none_behind(monkeypatch):
    asked = itertools.count(1)
    opened = []

    async def open_three(spec):
        if next(asked) > 3:
            raise SandboxStartError("no more")
        opened.append(await open_sandbox(spec))
        return opened[-1]

    monkeypatch.setattr(backend_module, "open_sandbox", open_three)

    async def fork():
        with pytest.raises(SandboxStartError, match="no more"):
            await open_sandboxes(SandboxSpec(), 5)
        return [sandbox._connection._transport.is_closing() for sandbox in opened]

    assert all(run_sync(fork()))


def test_a_snapshot_that_fits_nowhere_leaves_no_sandbox_behind():
    small = SandboxSpec(limits=Limits(workspace_bytes=2_000_000))

    async def fork():
        async with await open_sandbox(SandboxSpec()) as stem:
            await stem.write_file("large", bytes(3_000_000))
            snapshot = await stem.snapshot()
        with pytest.raises(SnapshotError, match="could not be restored"):
            await open_sandboxes(small, 2, snapshot=snapshot)

    run_sync(fork())
