"""Sandboxes side by side: execgym's backends, bare subprocesses, bubblewrap, `docker run`, `exec`.

A creation ends when the sandbox has answered its first request; p50, p95, p99, max and the success
rate are given, never an average alone; memory is the change of MemAvailable and the sum of PSS;
rivals run in the same process, interleaved in rounds, so that the ratios hold on a noisy machine.
What is not installed or not running is listed as such. For Docker, a daemon must run and have the
image that `execgym images build base` makes. A container for every sandbox costs some 10 MiB, so
there are at most 100 of those.

    python benchmarks/sandbox.py [--quick] [--live 1,10,100,1000,4000] [--json FILE]
"""

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table

from execgym.sandbox import Limits, Sandbox, SandboxError, SandboxSpec, open_sandbox

CODE = "print(1)"
EXPECTED = b"1\n"
RESULTS = pathlib.Path(__file__).parent / "results"
DOCKER_IMAGE = "execgym/base:latest"
NAMESPACE = SandboxSpec(backend="namespace")
DOCKER_SPECS = {
    "docker": SandboxSpec(backend="docker"),
    "docker-per-episode": SandboxSpec(backend="docker-per-episode"),
    "docker-per-episode, runsc": SandboxSpec(backend="docker-per-episode", runtime="runsc"),
}
MOST_LIVE = {"docker": 1000, "docker-per-episode": 100, "docker-per-episode, runsc": 100}


def percentiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    last = len(ordered) - 1
    figures = {f"p{q}_ms": ordered[round(last * q / 100)] * 1e3 for q in (50, 95, 99)}
    return {**figures, "max_ms": ordered[-1] * 1e3, "count": len(ordered)}


def run_process(command: list[str]) -> bool:
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return result.stdout == EXPECTED


def bare() -> bool:
    return run_process([sys.executable, "-I", "-c", CODE])


def bwrap_command() -> list[str]:
    binds = []
    for path in dict.fromkeys(("/usr", sys.base_prefix, sys.prefix)):
        binds += ["--ro-bind", path, path]
    links = []
    for name in ("bin", "lib", "lib64", "sbin"):
        if pathlib.Path("/", name).is_symlink():
            links += ["--symlink", f"usr/{name}", f"/{name}"]
    return [
        "bwrap", "--unshare-all", "--die-with-parent", *binds, *links, "--proc", "/proc",
        "--dev", "/dev", "--tmpfs", "/tmp", sys.executable, "-I", "-c", CODE,
    ]  # fmt: skip


def rivals() -> tuple[dict[str, list[str] | None], dict[str, str]]:
    """Return the commands of the rivals that run here, and why the others do not."""
    found: dict[str, list[str] | None] = {"python -c": [sys.executable, "-I", "-c", CODE]}
    missing: dict[str, str] = {}
    if shutil.which("bwrap") is None:
        missing["bwrap"] = "not installed (Debian's bubblewrap)"
    elif not run_process(bwrap_command()):
        missing["bwrap"] = "does not run here"
    else:
        found["bwrap python -c"] = bwrap_command()
    docker = [
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        DOCKER_IMAGE,
        "python3",
        "-I",
        "-c",
        CODE,
    ]
    if shutil.which("docker") is None:
        missing["docker"] = "not installed"
    elif subprocess.run(
        ["docker", "image", "inspect", DOCKER_IMAGE], capture_output=True
    ).returncode:
        missing["docker"] = f"no daemon runs, or it has no image {DOCKER_IMAGE}"
    elif not run_process(docker):
        missing["docker"] = "docker run does not work here"
    else:
        found["docker run python3 -c"] = docker
    return found, missing


class DockerExec:
    """A long-lived container that `docker exec` runs in."""

    def __enter__(self):
        command = [
            "docker",
            "run",
            "-d",
            "--rm",
            "--network",
            "none",
            DOCKER_IMAGE,
            "sleep",
            "3600",
        ]
        self.container = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.strip()
        return ["docker", "exec", self.container, "python3", "-I", "-c", CODE]

    def __exit__(self, *_):
        subprocess.run(["docker", "rm", "-f", self.container], capture_output=True)


async def specs() -> tuple[dict[str, SandboxSpec], dict[str, str]]:
    """Return the backends that run here, and why the others do not."""
    found, missing = {"namespace": NAMESPACE}, {}
    for name, spec in DOCKER_SPECS.items():
        try:
            await create_and_run(spec)
        except SandboxError as error:
            missing[f"execgym, {name}"] = str(error).splitlines()[0]
        else:
            found[name] = spec
    return found, missing


async def create_and_run(spec: SandboxSpec) -> bool:
    async with await open_sandbox(spec) as sandbox:
        return (await sandbox.run_python(CODE)).stdout == EXPECTED


async def timed_create(spec: SandboxSpec) -> tuple[float, bool]:
    # The destruction that follows is the kernel's and not part of the creation.
    start = time.perf_counter()
    sandbox = await open_sandbox(spec)
    good = (await sandbox.run_python(CODE)).stdout == EXPECTED
    seconds = time.perf_counter() - start
    await sandbox.close()
    return seconds, good


async def latency(rounds: int, backends: dict[str, SandboxSpec]) -> list[dict]:
    """Time each system's one run, interleaved."""
    commands, missing = rivals()
    times: dict[str, list[float]] = {}
    failures: dict[str, int] = {}

    def note(name: str, seconds: float, good: bool) -> None:
        times.setdefault(name, []).append(seconds)
        failures[name] = failures.get(name, 0) + (not good)

    docker_exec = DockerExec() if "docker run python3 -c" in commands else None
    if docker_exec is not None:
        commands["docker exec python3 -c"] = docker_exec.__enter__()
    try:
        async with contextlib.AsyncExitStack() as stack:
            warm = {}
            for name, spec in backends.items():
                warm[name] = await stack.enter_async_context(await open_sandbox(spec))
                await warm[name].run_python(CODE)
            for _ in range(rounds):
                for name, spec in backends.items():
                    note(f"{name}: create + first run", *await timed_create(spec))
                    start = time.perf_counter()
                    good = (await warm[name].run_python(CODE)).stdout == EXPECTED
                    note(f"{name}: run in a live sandbox", time.perf_counter() - start, good)
                for name, command in commands.items():
                    start = time.perf_counter()
                    good = await asyncio.to_thread(run_process, command)
                    note(name, time.perf_counter() - start, good)
    finally:
        if docker_exec is not None:
            docker_exec.__exit__()
    rows = [
        {
            "system": name,
            **percentiles(values),
            "success": 1 - failures[name] / len(values),
            "ratio_to_create": statistics.median(values)
            / statistics.median(times["namespace: create + first run"]),
            "ratio_to_run": statistics.median(values)
            / statistics.median(times["namespace: run in a live sandbox"]),
        }
        for name, values in times.items()
    ]
    return rows + [{"system": name, "missing": why} for name, why in missing.items()]


async def throughput(seconds: float, concurrency: int) -> list[dict]:
    """Count runs a second of each kind, in alternating slices.

    A run in a live sandbox is isolated from the host, from other sandboxes and, as a process of its
    own, from the sandbox's other runs but for the files.
    """
    idle = [await open_sandbox(NAMESPACE) for _ in range(concurrency)]

    async def in_live_sandbox() -> bool:
        sandbox = idle.pop()
        try:
            return (await sandbox.run_python(CODE)).stdout == EXPECTED
        finally:
            idle.append(sandbox)

    async def subprocess_run() -> bool:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", CODE, stdout=subprocess.PIPE
        )
        output, _ = await process.communicate()
        return output == EXPECTED

    async def slice_of(name: str, once, length: float) -> None:
        start = time.perf_counter()

        async def worker() -> None:
            while time.perf_counter() - start < length:
                try:
                    good = await once()
                except SandboxError:
                    good = False
                counts[name][0 if good else 1] += 1

        await asyncio.gather(*(worker() for _ in range(concurrency)))
        counts[name][2] += time.perf_counter() - start

    kinds = {
        "python -c": subprocess_run,
        "execgym: fresh sandbox each": functools.partial(create_and_run, NAMESPACE),
        "execgym: in live sandboxes": in_live_sandbox,
    }
    counts = {name: [0, 0, 0.0] for name in kinds}
    slices = 4
    for _ in range(slices):
        for name, once in kinds.items():
            await slice_of(name, once, seconds / slices)
    await asyncio.gather(*(sandbox.close() for sandbox in idle))
    rows = [
        {"system": name, "runs_per_second": good / length, "failed": bad}
        for name, (good, bad, length) in counts.items()
    ]
    for row in rows:
        row["ratio"] = row["runs_per_second"] / rows[0]["runs_per_second"]
    return rows


def memory_available() -> int:
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no MemAvailable in /proc/meminfo")


def proportional_memory() -> int:
    """Return the summed PSS of this user's zygotes and what descends from them, in bytes."""
    parents: dict[int, int] = {}
    roots = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                parents[int(entry.name)] = int(fields[1])
                if b"zygote" in (entry / "cmdline").read_bytes():
                    roots.add(int(entry.name))
            except OSError:
                continue
    total = 0
    for pid in parents:
        ancestor = pid
        while ancestor not in roots and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor in roots:
            try:
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue
            total += sum(
                int(line.split()[1]) * 1024
                for line in rollup.splitlines()
                if line.startswith("Pss:")
            )
    return total


async def idle(count: int) -> dict:
    """Open `count` sandboxes that run nothing, and measure what they take."""
    await create_and_run(NAMESPACE)
    available, proportional = memory_available(), proportional_memory()
    sandboxes = [await open_sandbox(NAMESPACE) for _ in range(count)]
    row = {
        "idle": count,
        "available_kib_each": (available - memory_available()) / 1024 / count,
        "pss_kib_each": (proportional_memory() - proportional) / 1024 / count,
    }
    await asyncio.gather(*(sandbox.close() for sandbox in sandboxes))
    return row


async def episodes(spec: SandboxSpec, count: int) -> dict:
    """Make, use and close `count` sandboxes, four at a time."""
    gate = asyncio.Semaphore(4)
    seconds: list[float] = []
    good = 0

    async def one() -> None:
        nonlocal good
        async with gate:
            try:
                spent, right = await timed_create(spec)
            except SandboxError:
                return
            seconds.append(spent)
            good += right

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return {
        "episodes": count,
        "success": good / count,
        **percentiles(seconds),
        "per_second": count / (time.perf_counter() - start),
    }


async def live(name: str, spec: SandboxSpec, count: int) -> dict:
    """Open `count` sandboxes, run once in each of them, measure, and close them."""
    await create_and_run(spec)
    available, proportional = memory_available(), proportional_memory()
    gate = asyncio.Semaphore(16)
    sandboxes: list[Sandbox] = []
    seconds: list[float] = []
    failed = 0

    async def one() -> None:
        nonlocal failed
        async with gate:
            start = time.perf_counter()
            try:
                patient = dataclasses.replace(spec, limits=Limits(wall_seconds=300))
                sandbox = await open_sandbox(patient)
                sandboxes.append(sandbox)
                if (await sandbox.run_python(CODE)).stdout != EXPECTED:
                    failed += 1
                seconds.append(time.perf_counter() - start)
            except SandboxError:
                failed += 1

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    creation = time.perf_counter() - start
    stepped = 0

    async def step(sandbox: Sandbox) -> None:
        nonlocal stepped
        async with gate:
            try:
                good = (await sandbox.run_python(CODE)).stdout == EXPECTED
            except SandboxError:
                return
            # Not in one statement with the await, which others would overtake.
            stepped += good

    start = time.perf_counter()
    await asyncio.gather(*(step(sandbox) for sandbox in sandboxes))
    stepping = time.perf_counter() - start
    row = {
        "backend": name,
        "live": count,
        **percentiles(seconds),
        "creates_per_second": count / creation,
        "create_success": 1 - failed / count,
        "steps_per_second": stepped / stepping,
        "step_success": stepped / count,
        "available_kib_each": (available - memory_available()) / 1024 / count,
        "pss_kib_each": (proportional_memory() - proportional) / 1024 / count,
    }
    start = time.perf_counter()
    await asyncio.gather(*(sandbox.close() for sandbox in sandboxes))
    row["close_seconds"] = time.perf_counter() - start
    return row


def show(title: str, rows: list[dict]) -> None:
    names = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(*names, title=title)
    for row in rows:
        cells = (row.get(name, "") for name in names)
        table.add_row(*(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells))
    Console(width=220 if not sys.stdout.isatty() else None).print(table)


def machine() -> dict:
    return {
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "mounts": len(pathlib.Path("/proc/self/mounts").read_text().splitlines()),
        "load": os.getloadavg()[0],
        "uid": os.getuid(),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute instead of several")
    parser.add_argument("--live", default="", help="comma-separated counts of live sandboxes")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "sandbox.json")
    arguments = parser.parse_args()
    default = "1,10,100" if arguments.quick else "1,10,100,1000,4000"
    counts = [int(count) for count in (arguments.live or default).split(",")]
    report = {"machine": machine()}
    print(report["machine"])
    backends, missing = await specs()
    report["missing"] = missing
    report["latency"] = await latency(30 if arguments.quick else 200, backends)
    show("One run of print(1), interleaved", report["latency"])
    report["throughput"] = await throughput(4 if arguments.quick else 20, concurrency=8)
    show("Runs a second, 8 at a time", report["throughput"])
    report["idle"] = [await idle(50 if arguments.quick else 500)]
    show("Live sandboxes that have run nothing", report["idle"])
    report["episodes"] = [
        {"backend": name, **await episodes(spec, 1000 if name in ("namespace", "docker") else 100)}
        for name, spec in backends.items()
    ]
    show("Episodes one after the other, 4 at a time", report["episodes"])
    report["live"] = []
    for name, spec in backends.items():
        for count in counts:
            if count <= MOST_LIVE.get(name, count):
                report["live"].append(await live(name, spec, count))
                await asyncio.sleep(1 if count < 1000 else 5)
    show("Live sandboxes", report["live"])
    for name, why in missing.items():
        print(f"not here: {name}: {why}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
