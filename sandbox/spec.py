"""What a sandbox is to be: its template, its limits, its backend."""

from __future__ import annotations

import dataclasses
import re

from execgym.sandbox.errors import TemplateError

_MIB = 1024 * 1024
# Far above any machine, and below what overflows in the kernel.
_LARGEST_LIMIT = 2**48
_INODES_OF_AN_EMPTY_WORKSPACE = 4
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one sandbox and on each command in it.

    Attributes:
        cpu_seconds: CPU time of one command, its children included where the backend can tell.
        wall_seconds: Time from the start of a command until it is killed. A safety net against
            sleeping, so it is generous: load on the machine must not turn right into wrong.
        memory_bytes: Private writable memory of each process (`RLIMIT_DATA`), which sees a
            `MemoryError`. All processes together, with what they share and what their sockets may
            hold, may have twice as much; beyond that the command ends with the limit `"memory"`.
        processes: Processes and threads that the sandbox may have at one time.
        open_files: Open file descriptors of each process.
        file_bytes: Size of the largest file that a process may write.
        workspace_bytes: Size of the writable file system (`/workspace`, `/tmp`, `/dev/shm`). In
            `docker-per-episode` each folder has one of its own: three quarters of this are for
            `/workspace`, three sixteenths for `/tmp`.
        workspace_inodes: Files, directories and links on it. In `docker-per-episode` seven eighths
            are for `/workspace`.
        output_bytes: Bytes kept of stdout, and as many of stderr: the head and the tail, with
            the number of dropped bytes reported.
    """

    cpu_seconds: float = 10.0
    wall_seconds: float = 60.0
    memory_bytes: int = 512 * _MIB
    processes: int = 64
    open_files: int = 256
    file_bytes: int = 64 * _MIB
    workspace_bytes: int = 64 * _MIB
    workspace_inodes: int = 8192
    output_bytes: int = 64 * 1024

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            expected = (int, float) if field.name.endswith("_seconds") else (int,)
            if isinstance(value, bool) or not isinstance(value, expected) or not value > 0:
                kind = "a positive number" if float in expected else "a positive whole number"
                raise ValueError(f"Limits.{field.name} must be {kind}, not {value!r}")
            if value == float("inf"):
                raise ValueError(f"Limits.{field.name} must be finite, not {value!r}")
            if value > _LARGEST_LIMIT:
                raise ValueError(
                    f"Limits.{field.name} may be at most {_LARGEST_LIMIT}, not {value!r}"
                )
        if self.workspace_inodes < _INODES_OF_AN_EMPTY_WORKSPACE:
            raise ValueError(
                f"Limits.workspace_inodes must be at least {_INODES_OF_AN_EMPTY_WORKSPACE}, which "
                f"/workspace, /tmp and /dev/shm take, not {self.workspace_inodes}"
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What every sandbox of a kind has in common; one zygote serves one template.

    Attributes:
        modules: Importable names that the zygote imports before it forks, so that no sandbox
            pays for the import.
        sources: Pairs `(module name, source text)` of single-file modules that are not installed
            in the image and that the zygote makes importable. The text may only import the
            standard library and must run on Python 3.8.
        image: `"host"` for the backend's own default: in `namespace` the host's interpreter and
            installed packages, read-only, in the Docker backends `docker_image`. Otherwise
            an image that has a `python3`: in `namespace` the absolute path of an unpacked root file
            system, in the Docker backends a name or an id that the daemon knows.
        docker_image: The Docker backends' default, which has what `modules` and `sources` import.
    """

    modules: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    image: str = "host"
    docker_image: str = "execgym/base:latest"

    def __post_init__(self) -> None:
        for name in (*self.modules, *(name for name, _ in self.sources)):
            if not isinstance(name, str) or not _MODULE_NAME.match(name):
                raise TemplateError(
                    f"template module {name!r} is not a dotted module name such as 'json'"
                )


BACKENDS = ("auto", "namespace", "docker", "docker-per-episode")
RUNTIMES = ("", "runc", "crun", "runsc")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """All that is needed to open a sandbox.

    Attributes:
        template: What the sandbox is forked from.
        limits: Bounds on the sandbox, and the default bounds of each command.
        backend: `"namespace"` for a sandbox on this host, `"docker"` for one in a container that it
            shares with others of its template, `"docker-per-episode"` for a container of its own,
            or `"auto"` for the first of the first two that this machine allows.
        runtime: What the Docker daemon runs containers with: `"runc"`, `"crun"`, `"runsc"`
            (gVisor), or `""` for its default.
    """

    template: Template = Template()
    limits: Limits = Limits()
    backend: str = "auto"
    runtime: str = ""

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ValueError(f"backend {self.backend!r} is not one of {', '.join(BACKENDS)}")
        if self.runtime not in RUNTIMES:
            named = ", ".join(repr(name) for name in RUNTIMES)
            raise ValueError(f"runtime {self.runtime!r} is not one of {named}")
        if self.runtime and not self.backend.startswith("docker"):
            raise ValueError(
                f"runtime {self.runtime!r} is Docker's: it needs backend 'docker' or "
                f"'docker-per-episode', not {self.backend!r}"
            )
