"""Every backend keeps every rule of the sandbox's contract."""

import pytest

from execgym.sandbox import Limits, Sandbox, SandboxSpec, open_sandbox
from execgym.sandbox.conformance import SandboxConformance


class TestBackend(SandboxConformance):
    backend = ""

    @pytest.fixture(autouse=True)
    def _of_one_backend(self, backend):
        cls = type(self)
        if cls.backend != backend:
            cls.teardown_class()  # What the cases share is another backend's.
            cls.backend = backend

    async def open_sandbox(self, limits: Limits) -> Sandbox:
        return await open_sandbox(SandboxSpec(backend=self.backend, limits=limits))
