"""What is asked of the Docker daemon for every container of ours."""

from __future__ import annotations

from typing import Any

from execgym.sandbox import stages
from execgym.sandbox.docker_engine import Engine
from execgym.sandbox.docker_owner import labels
from execgym.sandbox.errors import TemplateError
from execgym.sandbox.spec import Template


def template_image(engine: Engine, template: Template) -> str:
    """Return the id of the image that a template's sandboxes are made from.

    Raises:
        TemplateError: The template names a folder.
        SandboxUnavailableError: The daemon has no such image.
    """
    if template.image.startswith("/"):
        raise TemplateError(
            f"image {template.image!r} is a folder, which is for the backend 'namespace': the "
            "Docker backends take the name or the id of an image"
        )
    return engine.image_id(template.docker_image if template.image == "host" else template.image)


def bare_container(image: str, uid: int, kind: str) -> dict[str, Any]:
    """Return what is asked of the daemon for every container of ours.

    Args:
        image: The image's id.
        uid: User and group inside.
        kind: `"pod"` or `"episode"`, for its labels.
    """
    return {
        "Image": image,
        "Entrypoint": [],
        "Healthcheck": {"Test": ["NONE"]},
        "User": f"{uid}:{uid}",
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Env": [f"{name}={value}" for name, value in stages.environment().items()],
        "Labels": labels(kind),
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        # The container's standard input ends with the connection of whoever attached to it.
        "StdinOnce": True,
        "Tty": False,
    }


def bare_host_config(runtime: str) -> dict[str, Any]:
    """Return the same of how it is run: no network, no capability, nothing that it can write."""
    return {
        "AutoRemove": True,
        "Runtime": runtime,
        "NetworkMode": "none",
        "IpcMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "LogConfig": {"Type": "none", "Config": {}},
    }
