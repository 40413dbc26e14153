"""A sandbox is opened on the backend that was asked for, or not at all."""

import pytest

from execgym.sandbox import (
    SandboxSpec,
    SandboxUnavailableError,
    Template,
    backend,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.spec import BACKENDS


@pytest.mark.parametrize("name", [name for name in BACKENDS if name.startswith("docker")])
def test_a_backend_that_cannot_run_is_never_another_one(no_daemon, monkeypatch, name):
    async def open_another(_):
        raise AssertionError("another backend was taken")

    monkeypatch.setattr(backend, "open_namespace_sandbox", open_another)
    with pytest.raises(SandboxUnavailableError, match="Docker"):
        run_sync(open_sandbox(SandboxSpec(backend=name)))


@pytest.mark.parametrize("name", ["auto", "docker", "docker-per-episode"])
def test_the_image_of_a_template_is_taken_in_docker_however_docker_was_chosen(
    base_image, monkeypatch, name
):
    async def refuse(_):
        raise SandboxUnavailableError("not here")

    monkeypatch.setattr(backend, "open_namespace_sandbox", refuse)
    monkeypatch.setattr(backend, "_choice", backend._Choice())
    template = Template(docker_image="execgym/nothing:latest")
    with pytest.raises(SandboxUnavailableError, match="execgym images build nothing"):
        run_sync(open_sandbox(SandboxSpec(backend=name, template=template)))
