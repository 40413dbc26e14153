"""A sandbox is opened on the backend that was asked for, or not at all."""

import pytest

from execgym.sandbox import SandboxSpec, SandboxUnavailableError, backend, open_sandbox, run_sync


def test_a_backend_that_does_not_exist_yet_is_never_another_one(monkeypatch):
    async def open_another(_):
        raise AssertionError("another backend was taken")

    monkeypatch.setattr(backend, "open_namespace_sandbox", open_another)
    with pytest.raises(SandboxUnavailableError, match="docker-per-episode"):
        run_sync(open_sandbox(SandboxSpec(backend="docker-per-episode")))
