"""A sandbox is opened on the backend that was asked for, or not at all."""

import pytest

from execgym.sandbox import SandboxSpec, SandboxUnavailableError, backend, open_sandbox, run_sync
from execgym.sandbox.docker_engine import engines
from execgym.sandbox.spec import BACKENDS


@pytest.fixture
def no_daemon(monkeypatch, tmp_path):
    """No Docker daemon answers, and nothing that was known of one is left."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr(engines, "_engine", None)


@pytest.mark.parametrize("name", [name for name in BACKENDS if name.startswith("docker")])
def test_a_backend_that_cannot_run_is_never_another_one(no_daemon, monkeypatch, name):
    async def open_another(_):
        raise AssertionError("another backend was taken")

    monkeypatch.setattr(backend, "open_namespace_sandbox", open_another)
    with pytest.raises(SandboxUnavailableError, match="Docker"):
        run_sync(open_sandbox(SandboxSpec(backend=name)))
