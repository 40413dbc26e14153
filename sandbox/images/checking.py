"""Checking an image: is it what its record says, and can a sandbox be made of it?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from execgym.sandbox.backend import open_sandbox
from execgym.sandbox.errors import CommandError, SandboxError
from execgym.sandbox.event_loop import run_sync
from execgym.sandbox.images.build import ImageState, image_states
from execgym.sandbox.images.daemon import docker_client
from execgym.sandbox.images.errors import ImageError
from execgym.sandbox.images.labels import ImageRecord
from execgym.sandbox.images.probing import OLDEST_PYTHON, ImageContents, look_into
from execgym.sandbox.images.templates import ImageTemplate, image_template
from execgym.sandbox.spec import SandboxSpec, Template

_SHOWN = 3
_IMPORT_ALL = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageFinding:
    """One thing that was looked at.

    Attributes:
        image: Name of the template.
        what: What was looked at.
        passed: Whether it is as it should be.
        detail: What was found, and the way out where it is wrong.
    """

    image: str
    what: str
    passed: bool
    detail: str = ""


def check_images(names: Sequence[str] = ()) -> tuple[ImageFinding, ...]:
    """Check images, each in containers of its own that have no network.

    Args:
        names: Names of templates; all that the daemon has where there is none.

    Raises:
        ImageError: A name is unknown, no daemon answers, or it has none of the images.
    """
    for name in names:
        image_template(name)
    states = {state.template.name: state for state in image_states()}
    chosen = [name for name, state in states.items() if state.record is not None]
    chosen = list(names) or chosen
    if not chosen:
        raise ImageError("the daemon has no image of ours: execgym images build")
    findings: list[ImageFinding] = []
    for name in chosen:
        findings += _check(states[name])
    return tuple(findings)


def _check(state: ImageState) -> list[ImageFinding]:
    template, record = state.template, state.record
    build = f"execgym images build {template.name}"

    def finding(what: str, passed: bool, detail: str = "") -> ImageFinding:
        return ImageFinding(image=template.name, what=what, passed=passed, detail=detail)

    if record is None:
        return [finding("here", False, f"the daemon does not have it: {build}")]
    with docker_client() as client:
        try:
            contents = look_into(
                client, record.digest, modules=template.modules, programs=template.programs
            )
        except ImageError as error:
            return [finding("python", False, str(error))]
    changed = _changed(record, contents)
    privileges = [f"{path} ({what})" for path, what in contents.privileges]
    broken = [f"{name}: {reason}" for name, reason in contents.import_errors.items()]
    old = contents.python_version < OLDEST_PYTHON
    failure = _try_sandbox(template, record)
    return [
        finding(
            "inputs",
            state.current,
            "built from what would go in now" if state.current else f"outdated: {build}",
        ),
        finding("record", not changed, _some(changed) or "its labels name what is in it"),
        finding("python", not old, contents.python),
        finding("modules", not broken, _some(broken) or ", ".join(template.modules)),
        finding(
            "programs",
            not contents.missing_programs,
            f"missing: {_some(contents.missing_programs)}"
            if contents.missing_programs
            else ", ".join(template.programs),
        ),
        finding(
            "privileges",
            not privileges,
            _some(privileges) or "no set-user-id files, file capabilities or devices",
        ),
        finding("sandbox", not failure, failure or "one ran a program that imports the modules"),
    ]


def _changed(record: ImageRecord, contents: ImageContents) -> list[str]:
    """Return what is in an image and not so in its record, or the other way round."""
    changed = [] if record.python == contents.python else [f"python {contents.python}"]
    for said, found in (
        (record.python_packages, contents.python_packages),
        (record.debian_packages, contents.debian_packages),
    ):
        changed += [
            f"{name} {found.get(name, 'is missing')}"
            for name in sorted({*said, *found})
            if said.get(name) != found.get(name)
        ]
    return changed


def _try_sandbox(template: ImageTemplate, record: ImageRecord) -> str:
    """Return why no sandbox can be made of an image, or `""`."""
    spec = SandboxSpec(backend="docker-per-episode", template=Template(image=record.digest))

    async def attempt() -> None:
        async with await open_sandbox(spec) as sandbox:
            (await sandbox.run_python(_IMPORT_ALL, argv=template.modules)).check()

    try:
        run_sync(attempt())
    except (SandboxError, CommandError) as error:
        return str(error)
    return ""


def _some(lines: Sequence[str]) -> str:
    text = ", ".join(lines[:_SHOWN])
    return f"{text} and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else text
