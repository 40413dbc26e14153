"""Vector envs side by side: execgym's, Gymnasium's AsyncVectorEnv and SyncVectorEnv.

All step the same env with the same action, which runs one program in each env's sandbox. Each
contender has a process of its own, and contenders take turns, so that ratios hold on a noisy
machine. A start ends with the first step of every env, since a sandbox opens with the first tool
that needs it. Steps count only if the program's output came back right. Memory is the sum of PSS
over the process and all its descendants, sandboxes included, and the change of MemAvailable. CPU
time is that of the same processes: unlike steps per second it says the same on a loaded machine,
where whoever runs more processes at once gets more of it.

Three tables: the contenders at several numbers of envs; lockstep against send/recv where one
program in fifty takes half a second; and execgym's vector env alone with 1,000 and 4,000 live envs.

    python benchmarks/vector.py [--quick] [--envs 8,64,256] [--live 1000,4000]
                                [--seconds 5] [--rounds 2] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

import gymnasium
from rich.console import Console
from rich.table import Table

import execgym

RESULTS = pathlib.Path(__file__).parent / "results"
CONTENDERS = ("execgym", "gymnasium async", "gymnasium sync")
ACTIONS = {
    "execgym/SQL-v0": ("run_sql", {"query": "SELECT 42"}),
    "execgym/Coding-v0": ("run_python", {"code": "print(42)"}),
}
SLOW = ("run_python", {"code": "import time; time.sleep(0.5); print(42)"})
SLOW_SHARE = 0.02
SEED = 7


def message(call: tuple[str, dict[str, str]]) -> str:
    name, arguments = call
    return json.dumps({"name": name, "arguments": arguments})


# ---- what runs in a process of its own ----------------------------------------------------------


def make(contender: str, env_id: str, num_envs: int) -> gymnasium.vector.VectorEnv:
    arguments = {"num_envs": num_envs, "max_turns": 1_000_000, "episode_seconds": 1e9}
    if contender == "execgym":
        return gymnasium.make_vec(env_id, **arguments)
    if contender == "gymnasium sync":
        return gymnasium.make_vec(env_id, vectorization_mode="sync", **arguments)
    return gymnasium.make_vec(
        env_id,
        vectorization_mode="async",
        vector_kwargs={"shared_memory": False},
        **arguments,
    )


def right_steps(observations: tuple[str, ...]) -> int:
    return sum("42" in observation for observation in observations)


def measure_contender(
    contender: str, env_id: str, num_envs: int, seconds: float
) -> dict[str, float]:
    available = available_bytes()
    actions = (message(ACTIONS[env_id]),) * num_envs
    started = time.perf_counter()
    envs = make(contender, env_id, num_envs)
    envs.reset(seed=SEED)
    observations, *_ = envs.step(actions)
    start_seconds = time.perf_counter() - started
    wrong = num_envs - right_steps(observations)
    pss = tree_pss_bytes()
    used = available - available_bytes()
    steps = asked = 0
    cpu = tree_cpu_seconds()
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or not asked:
        observations, *_ = envs.step(actions)
        asked += num_envs
        steps += right_steps(observations)
    elapsed = time.perf_counter() - started
    cpu = tree_cpu_seconds() - cpu
    envs.close()
    return {
        "start_seconds": start_seconds,
        "steps_per_second": steps / elapsed,
        "cpu_ms_per_step": cpu / asked * 1e3,
        "success": (steps + num_envs - wrong) / (asked + num_envs),
        "pss_mib": pss / 2**20,
        "available_mib": used / 2**20,
    }


def measure_stragglers(
    contender: str, env_id: str, num_envs: int, seconds: float
) -> dict[str, float]:
    envs = make("execgym", env_id, num_envs)
    envs.reset(seed=SEED)
    draw = random.Random(SEED)
    fast, slow = message(ACTIONS[env_id]), message(SLOW)

    def actions(count: int) -> list[str]:
        return [slow if draw.random() < SLOW_SHARE else fast for _ in range(count)]

    envs.step([fast] * num_envs)
    steps = asked = 0
    started = time.perf_counter()
    if contender == "lockstep":
        while time.perf_counter() - started < seconds:
            observations, *_ = envs.step(actions(num_envs))
            asked += num_envs
            steps += right_steps(observations)
    else:
        envs.send(actions(num_envs), range(num_envs))
        asked = num_envs
        while time.perf_counter() - started < seconds:
            batch = envs.recv(min_envs=max(1, num_envs // 16))
            steps += right_steps(batch.observations)
            envs.send(actions(len(batch)), batch.env_ids)
            asked += len(batch)
    elapsed = time.perf_counter() - started
    while steps < asked and contender != "lockstep":
        steps += right_steps(envs.recv().observations)
    late = num_envs if contender != "lockstep" else 0
    envs.close()
    return {
        "steps_per_second": (asked - late) / elapsed,
        "success": steps / asked,
    }


def measure_live(contender: str, env_id: str, num_envs: int, seconds: float) -> dict[str, float]:
    available = available_bytes()
    action = message(ACTIONS[env_id])
    started = time.perf_counter()
    envs = make(contender, env_id, num_envs)
    made = time.perf_counter()
    envs.reset(seed=SEED)
    reset = time.perf_counter()
    first, *_ = envs.step([action] * num_envs)
    opened = time.perf_counter()
    used = available - available_bytes()
    pss = tree_pss_bytes()
    begun = time.perf_counter()
    second, *_ = envs.step([action] * num_envs)
    stepped = time.perf_counter()
    queue = envs.statistics()
    envs.close()
    closed = time.perf_counter()
    return {
        "make_seconds": made - started,
        "reset_seconds": reset - made,
        "first_step_seconds": opened - reset,
        "step_seconds": stepped - begun,
        "close_seconds": closed - stepped,
        "steps_per_second": num_envs / (stepped - begun),
        "success": (right_steps(first) + right_steps(second)) / (2 * num_envs),
        "mean_run_ms": queue.run_seconds / (queue.steps + queue.resets) * 1e3,
        "pss_mib_per_env": pss / 2**20 / num_envs,
        "available_mib_per_env": used / 2**20 / num_envs,
    }


MEASURES = {
    "contender": measure_contender,
    "stragglers": measure_stragglers,
    "live": measure_live,
}


def available_bytes() -> int:
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo has no MemAvailable")


def tree() -> dict[int, list[str]]:
    """Return this process and its descendants: the fields of /proc/PID/stat after the name."""
    everything: dict[int, list[str]] = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            everything[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
    children: dict[int, list[int]] = {}
    for pid, fields in everything.items():
        children.setdefault(int(fields[1]), []).append(pid)
    found, waiting = {}, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        found[pid] = everything[pid]
        waiting += children.get(pid, [])
    return found


def tree_pss_bytes() -> int:
    """Return the proportional set size of this process and all its descendants."""
    total = 0
    for pid in tree():
        try:
            rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        for line in rollup.splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def tree_cpu_seconds() -> float:
    """Return the CPU time of this process and all its descendants, dead children included."""
    ticks = sum(int(field) for fields in tree().values() for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


# ---- the rounds and the tables ------------------------------------------------------------------


def in_own_process(
    measure: str, contender: str, env_id: str, num_envs: int, seconds: float, limit: float
) -> dict[str, float] | str:
    """Return the figures, or in words why there are none."""
    command = [
        sys.executable,
        __file__,
        "--child",
        json.dumps([measure, contender, env_id, num_envs, seconds]),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return f"not done in {limit:.0f} s"
    if process.returncode:
        lines = errors.strip().splitlines()
        return lines[-1] if lines else f"ended with status {process.returncode}"
    return json.loads(out.splitlines()[-1])


def rounds(
    console: Console,
    measure: str,
    contenders: tuple[str, ...],
    env_id: str,
    num_envs: int,
    arguments: argparse.Namespace,
) -> dict[str, dict[str, float] | str]:
    """Return the median of each figure by contender; contenders take turns in every round."""
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    failed: dict[str, str] = {}
    for _ in range(arguments.rounds):
        for name in contenders:
            if name in failed:
                continue
            console.print(f"[dim]{measure}: {name}, {env_id}, {num_envs} envs[/]")
            figures = in_own_process(
                measure, name, env_id, num_envs, arguments.seconds, arguments.limit
            )
            if isinstance(figures, str):
                failed[name] = figures
            else:
                taken[name].append(figures)
    return {
        name: failed[name]
        if name in failed
        else {key: statistics.median(one[key] for one in taken[name]) for key in taken[name][0]}
        for name in contenders
    }


def show(
    console: Console, title: str, rows: list[tuple[list[str], dict | str]], columns: dict[str, str]
) -> None:
    table = Table(title=title, title_justify="left")
    for heading in ("env", "envs", "contender"):
        table.add_column(heading)
    for heading in columns:
        table.add_column(heading, justify="right")
    for labels, figures in rows:
        if isinstance(figures, str):
            table.add_row(*labels, figures)
        else:
            table.add_row(*labels, *(columns[key].format(**figures) for key in columns))
    console.print(table)


def with_ratio(
    figures: dict[str, dict[str, float] | str], base: str
) -> dict[str, dict[str, float] | str]:
    """Add how many times faster the base is than each contender."""
    reference = figures[base]
    for each in figures.values():
        if isinstance(each, dict) and isinstance(reference, dict):
            each["base_ratio"] = reference["steps_per_second"] / each["steps_per_second"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Vector envs side by side.")
    parser.add_argument("--quick", action="store_true", help="small numbers, about two minutes")
    parser.add_argument("--envs", default="8,64,256", help="numbers of envs, by comma")
    parser.add_argument("--live", default="1000,4000", help="numbers of live envs, by comma")
    parser.add_argument("--ids", default=",".join(ACTIONS), help="env ids, by comma")
    parser.add_argument("--seconds", type=float, default=5.0, help="of stepping, each time")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one measurement")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "vector.json")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        measure, *rest = json.loads(arguments.child)
        print(json.dumps(MEASURES[measure](*rest)))
        return
    if arguments.quick:
        arguments.envs, arguments.live = "8,32", "200"
        arguments.seconds, arguments.rounds = 2.0, 1
    console = Console(width=None if sys.stdout.isatty() else 130)
    ids = arguments.ids.split(",")
    results: dict[str, object] = {
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg(),
            "python": platform.python_version(),
            "kernel": platform.release(),
            "gymnasium": gymnasium.__version__,
            "execgym": execgym.__version__,
        },
        "arguments": {key: str(value) for key, value in vars(arguments).items() if key != "child"},
    }

    rows = []
    results["contenders"] = table = {}
    for env_id in ids:
        for num_envs in map(int, arguments.envs.split(",")):
            figures = rounds(console, "contender", CONTENDERS, env_id, num_envs, arguments)
            table[f"{env_id} {num_envs}"] = with_ratio(figures, "execgym")
            rows += [([env_id, str(num_envs), name], each) for name, each in figures.items()]
    show(
        console,
        "One program a step in every env",
        rows,
        {
            "steps/s": "{steps_per_second:.0f}",
            "execgym is": "{base_ratio:.2f}x",
            "CPU/step": "{cpu_ms_per_step:.2f} ms",
            "start": "{start_seconds:.2f} s",
            "PSS": "{pss_mib:.0f} MiB",
            "MemAvailable": "{available_mib:.0f} MiB",
            "right": "{success:.1%}",
        },
    )

    rows = []
    results["stragglers"] = table = {}
    for num_envs in map(int, arguments.envs.split(",")):
        figures = rounds(
            console,
            "stragglers",
            ("send/recv", "lockstep"),
            "execgym/Coding-v0",
            num_envs,
            arguments,
        )
        table[str(num_envs)] = with_ratio(figures, "send/recv")
        rows += [
            (["execgym/Coding-v0", str(num_envs), name], each) for name, each in figures.items()
        ]
    show(
        console,
        f"{SLOW_SHARE:.0%} of the programs take 0.5 s",
        rows,
        {
            "steps/s": "{steps_per_second:.0f}",
            "send/recv is": "{base_ratio:.2f}x",
            "right": "{success:.1%}",
        },
    )

    rows = []
    results["live"] = table = {}
    arguments.rounds = 1
    for env_id in ids:
        for num_envs in map(int, arguments.live.split(",")):
            figures = rounds(console, "live", ("execgym",), env_id, num_envs, arguments)
            table[f"{env_id} {num_envs}"] = figures["execgym"]
            rows += [([env_id, str(num_envs), name], each) for name, each in figures.items()]
    show(
        console,
        "Live envs, each with its sandbox",
        rows,
        {
            "right": "{success:.1%}",
            "make": "{make_seconds:.2f} s",
            "reset": "{reset_seconds:.2f} s",
            "first step": "{first_step_seconds:.1f} s",
            "steps/s": "{steps_per_second:.0f}",
            "close": "{close_seconds:.1f} s",
            "PSS/env": "{pss_mib_per_env:.2f} MiB",
            "MemAvailable/env": "{available_mib_per_env:.2f} MiB",
        },
    )
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"written to {arguments.json}")


if __name__ == "__main__":
    main()
