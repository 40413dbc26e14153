"""Snapshots of a workspace side by side: execgym's backends, and `docker cp` out of and into one.

A snapshot is what takes a workspace's files out as bytes, a restore what puts them into another
sandbox in the place of what is there. Each is timed to its end; the rivals take turns in one
process, so that the ratios hold on a noisy machine. What is not running is listed as such. The
image is the one that `execgym images build base` makes.

    python benchmarks/snapshots.py [--megabytes 10] [--files 1,100] [--rounds 40]
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from rich.console import Console
from rich.table import Table

from execgym.sandbox import Limits, Sandbox, SandboxSpec, SandboxUnavailableError, open_sandbox

IMAGE = "execgym/base:latest"
OURS = ("namespace", "docker", "docker-per-episode")


class Contender(Protocol):
    """Something whose files can be taken out, and put back elsewhere."""

    snapshot: Callable[[], Awaitable[bytes]]
    restore: Callable[[bytes], Awaitable[None]]
    close: Callable[[], Awaitable[None]]


class Execgym:
    """Two sandboxes: one that has the files, and one that gets them."""

    def __init__(self, stem: Sandbox, branch: Sandbox) -> None:
        self._stem = stem
        self._branch = branch
        self.snapshot = stem.snapshot
        self.restore = branch.restore

    @classmethod
    async def open(cls, backend: str, files: dict[str, bytes]) -> "Execgym":
        limits = Limits(workspace_bytes=4 * sum(map(len, files.values())) + 2**20)
        spec = SandboxSpec(backend=backend, limits=limits)
        stem = await open_sandbox(spec)
        for path, data in files.items():
            await stem.write_file(path, data)
        return cls(stem, await open_sandbox(spec))

    async def close(self) -> None:
        await self._stem.close()
        await self._branch.close()


class DockerCopy:
    """Two containers, and `docker cp` with the files as a tar archive on its standard streams."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._containers = [
            _docker("run", "-d", "--rm", "--network=none", IMAGE, "sleep", "infinity")
            .decode()
            .strip()
            for _ in range(2)
        ]
        with tempfile.TemporaryDirectory() as folder:
            for path, data in files.items():
                place = os.path.join(folder, "workspace", path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "wb") as file:
                    file.write(data)
            _docker("cp", f"{folder}/workspace", f"{self._containers[0]}:/")

    async def snapshot(self) -> bytes:
        return _docker("cp", f"{self._containers[0]}:/workspace", "-")

    async def restore(self, snapshot: bytes) -> None:
        _docker("cp", "-", f"{self._containers[1]}:/", stdin=snapshot)

    async def close(self) -> None:
        _docker("rm", "--force", *self._containers)


def _docker(*arguments: str, stdin: bytes = b"") -> bytes:
    command = ["docker", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


async def contenders(files: dict[str, bytes]) -> tuple[dict[str, Contender], list[str]]:
    found: dict[str, Contender] = {}
    missing = []
    for backend in OURS:
        try:
            found[backend] = await Execgym.open(backend, files)
        except SandboxUnavailableError as error:
            missing.append(f"{backend}: {str(error).splitlines()[0]}")
    try:
        found["docker cp"] = DockerCopy(files)
    except (OSError, subprocess.CalledProcessError) as error:
        missing.append(f"docker cp: {error}")
    return found, missing


async def measure(files: dict[str, bytes], rounds: int) -> tuple[list[list[str]], list[str]]:
    found, missing = await contenders(files)
    taken: dict[str, list[float]] = {name: [] for name in found}
    restored: dict[str, list[float]] = {name: [] for name in found}
    try:
        for _ in range(rounds):
            for name, contender in found.items():
                started = time.perf_counter()
                snapshot = await contender.snapshot()
                taken[name].append(time.perf_counter() - started)
                started = time.perf_counter()
                await contender.restore(snapshot)
                restored[name].append(time.perf_counter() - started)
    finally:
        for contender in found.values():
            await contender.close()
    rows = []
    for name in found:
        row = [name]
        for seconds in (taken, restored):
            ordered = sorted(seconds[name])
            p50 = statistics.median(ordered)
            row += [f"{1e3 * p50:.1f}", f"{1e3 * ordered[round(0.95 * (rounds - 1))]:.1f}"]
            if "docker cp" in found:
                row.append(f"{statistics.median(seconds['docker cp']) / p50:.1f}x")
            else:
                row.append("-")
        rows.append(row)
    return rows, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--files", default="1,100", help="how many files they are in")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    console = Console()
    for count in map(int, options.files.split(",")):
        size = int(options.megabytes * 1e6) // count
        files = {f"folder-{n % 10}/file-{n}": os.urandom(size) for n in range(count)}
        rows, missing = asyncio.run(measure(files, options.rounds))
        table = Table(title=f"{options.megabytes:g} MB in {count} files, {options.rounds} rounds")
        for column in ("", "snapshot p50 ms", "p95", "against docker cp"):
            table.add_column(column, justify="right")
        for column in ("restore p50 ms", "p95", "against docker cp"):
            table.add_column(column, justify="right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        for line in missing:
            console.print(f"not here: {line}")


if __name__ == "__main__":
    main()
