"""The backend `namespace` keeps every rule on an unpacked image, too."""

import asyncio

import pytest

from execgym.sandbox import SandboxSpec, Template, open_sandbox
from execgym.sandbox.conformance import check
from execgym.sandbox.images import unpack_image


@pytest.mark.usefixtures("base_image")
def test_an_unpacked_image_keeps_every_rule(tmp_path):
    folder = tmp_path / "base image é"
    unpack_image("base", folder)

    async def open_on_it(limits):
        template = Template(image=str(folder))
        return await open_sandbox(
            SandboxSpec(backend="namespace", template=template, limits=limits)
        )

    report = asyncio.run(check(open_on_it))
    assert report.passed, str(report)
