"""What a zygote is given to run, wherever it runs: the stages' source, and how it is to begin."""

from __future__ import annotations

import functools
import importlib.resources
import json
import os
from typing import Any

from execgym.sandbox.spec import Template

STAGE_SOURCES = (
    *("kernel", "cgroup", "seccomp", "wire", "link", "image_layout"),
    *("archive", "guest", "preload", "zygote"),
)
"""The modules of this package that run there, each after those that it imports."""
LONE_STAGE_SOURCES = (
    *("kernel", "cgroup", "seccomp", "wire", "link"),
    *("archive", "guest", "preload", "lone_guest"),
)
"""Likewise those that run in a container of a sandbox's own."""

BOOTSTRAP = """
import json, marshal, os, site, socket, sys, types
bundle_fd, control_fd, stage = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def compiled(source, name):
    try:
        return compile(source, "<%s>" % name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return "%s: %s" % (type(error).__name__, error)
def prepared():
    # In a process of its own: what a compiler and the site's hooks leave in memory, each sandbox
    # would pay for with every fork.
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.lseek(bundle_fd, 0, 0)
            with os.fdopen(bundle_fd, "rb") as file:
                bundle = json.load(file)
            parts = [[(name, compiled(source, name)) for name, source in bundle[kind]]
                     for kind in ("sources", "template_sources")]
            site.main()
            prefixes = sys.path, sys.prefix, sys.exec_prefix
            with os.fdopen(write_end, "wb") as pipe:
                marshal.dump((*parts, prefixes, json.dumps(bundle["config"])), pipe)
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        stages, template, prefixes, config = marshal.load(pipe)
    os.waitpid(pid, 0)
    return stages, template, prefixes, json.loads(config)
stages, template, prefixes, config = prepared()
package = sys.modules["execgym"] = types.ModuleType("execgym")
package.sandbox = sys.modules["execgym.sandbox"] = types.ModuleType("execgym.sandbox")
for name, code in stages:
    module = sys.modules["execgym.sandbox." + name] = types.ModuleType("execgym.sandbox." + name)
    setattr(package.sandbox, name, module)
    exec(code, module.__dict__)
if stage == "root":
    config["inherit"] = [bundle_fd, control_fd]
    package.sandbox.zygote.build_root(config)
else:
    os.close(bundle_fd)
    sys.path, sys.prefix, sys.exec_prefix = prefixes
    site.setquit(), site.setcopyright(), site.sethelper()
    del stages, code
    package.sandbox.zygote.serve(
        config, template, sys.argv[4:], socket.socket(fileno=control_fd)
    )
"""
"""Takes the descriptors of the bundle and of the control socket, and `root`, as arguments."""

_LONE_BOOTSTRAP = """
import json, os, site, sys, types
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
bundle = json.loads(read(int.from_bytes(read(4), "big")))
package = sys.modules["execgym"] = types.ModuleType("execgym")
package.sandbox = sys.modules["execgym.sandbox"] = types.ModuleType("execgym.sandbox")
for name, source in bundle["sources"]:
    module = sys.modules["execgym.sandbox." + name] = types.ModuleType("execgym.sandbox." + name)
    setattr(package.sandbox, name, module)
    exec(compile(source, "<%s>" % name, "exec", dont_inherit=True), module.__dict__)
template = []
for name, source in bundle["template_sources"]:
    try:
        template.append((name, compile(source, "<%s>" % name, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError) as error:
        template.append((name, "%s: %s" % (type(error).__name__, error)))
site.main()
config = bundle["config"]
del bundle, name, source, module
package.sandbox.lone_guest.serve(config, template)
"""

PATH = "/usr/local/bin:/usr/bin:/bin"
_ENVIRONMENT = {
    "HOME": "/workspace",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LOGNAME": "sandbox",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "SHELL": "/bin/sh",
    "TERM": "dumb",
    "TZ": "UTC",
    "USER": "sandbox",
}
# numpy's library picks its code by them, and every process has to pick the same.
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_FILES = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    "sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n",
    "/etc/group": "root:x:0:\nsandbox:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@functools.cache
def stage_sources(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the names with the texts of stages, in their order."""
    folder = importlib.resources.files("execgym.sandbox")
    return tuple((name, folder.joinpath(f"{name}.py").read_text("utf-8")) for name in names)


def environment(path: str = PATH) -> dict[str, str]:
    """Return the environment of everything in a sandbox.

    Args:
        path: Where programs are looked for.
    """
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**_ENVIRONMENT, **passed_on, "PATH": path}


def zygote_bundle(
    template: Template,
    *,
    uid: int,
    gid: int,
    layout: dict[str, Any] | None = None,
    image_root: str = "",
    path: str = PATH,
) -> bytes:
    """Return what a zygote is given to run.

    Args:
        template: What it preloads.
        uid: The user that it runs as, as its own user namespace counts.
        gid: Likewise the group.
        layout: What sandboxes see of the file system, or None for what an image has.
        image_root: Where that image lies, as the zygote sees it.
        path: Where programs are looked for in a sandbox.
    """
    config = {
        "layout": layout,
        "image_root": image_root,
        "files": _FILES,
        "uid": uid,
        "gid": gid,
        "environment": environment(path),
        "bootstrap": BOOTSTRAP,
        "template_modules": template.modules,
    }
    bundle = {
        "sources": stage_sources(STAGE_SOURCES),
        "template_sources": template.sources,
        "config": config,
    }
    return json.dumps(bundle).encode()


def lone_command() -> list[str]:
    """Return the command of a container that is to be one sandbox, and has its own environment."""
    # What the image sets is gone with the first interpreter.
    start = (
        "import os, sys\n"
        f"arguments = [sys.executable, '-s', '-S', '-c', {_LONE_BOOTSTRAP!r}]\n"
        f"os.execve(sys.executable, arguments, {environment()!r})"
    )
    return ["python3", "-I", "-S", "-c", start]


def lone_bundle(template: Template) -> bytes:
    """Return what such a container reads at first: what it is to run, after its length."""
    bundle = {
        "sources": stage_sources(LONE_STAGE_SOURCES),
        "template_sources": template.sources,
        "config": {"template_modules": template.modules},
    }
    data = json.dumps(bundle).encode()
    return len(data).to_bytes(4, "big") + data
