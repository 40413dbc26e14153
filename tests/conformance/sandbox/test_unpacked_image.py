"""The backend `namespace` keeps its rules on an unpacked image, too."""

import asyncio

import pytest

from execgym.sandbox import SandboxSpec, Template, open_sandbox
from execgym.sandbox.conformance import CASES, check
from execgym.sandbox.images import unpack_image

# What an image can make a difference to; the limits are the kernel's and the guest's.
GROUPS = ("commands", "files", "life", "python", "snapshots")


@pytest.mark.usefixtures("base_image")
def test_an_unpacked_image_keeps_the_rules(tmp_path):
    folder = tmp_path / "base image é"
    unpack_image("base", folder)

    async def open_on_it(limits):
        template = Template(image=str(folder))
        return await open_sandbox(
            SandboxSpec(backend="namespace", template=template, limits=limits)
        )

    chosen = [case for case in CASES if case.group in GROUPS]
    assert len(chosen) > 60
    report = asyncio.run(check(open_on_it, cases=chosen))
    assert report.passed, str(report)
