"""Opening a sandbox by its spec."""

from __future__ import annotations

import asyncio

from execgym.sandbox.base import Sandbox
from execgym.sandbox.fingerprint import template_fingerprint
from execgym.sandbox.namespace import open_namespace_sandbox
from execgym.sandbox.spec import SandboxSpec


async def open_sandbox(spec: SandboxSpec) -> Sandbox:
    """Open a sandbox: it belongs to the running event loop until it is closed.

    `"auto"` takes `"namespace"`, the one backend there is. Nothing ever runs unisolated.

    Raises:
        TemplateError: The template cannot be built.
        SandboxUnavailableError: This machine allows no backend; the message says what to change.
        SandboxStartError: The sandbox did not come up.
    """
    return await open_namespace_sandbox(spec)


async def image_fingerprint(spec: SandboxSpec) -> str:
    """Return what `Sandbox.fingerprint` of a sandbox of this spec says, without opening one."""
    return await asyncio.to_thread(template_fingerprint, spec.template)
