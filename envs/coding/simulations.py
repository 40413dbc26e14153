"""Algorithms of level 4: machines, robots, automata, queues and stores, run step by step."""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103
from execgym.envs.coding.operation import Operation, between, one_of, operation_registry

SIMULATIONS: dict[str, Operation] = {}

_four = operation_registry(SIMULATIONS)


def _stack_machine(shortage: str, extra: str, modulus: int) -> str:
    rule = {
        "skip": "is skipped",
        "stop": "ends the run at once, and the rest is not read",
        "clear": "empties the stack",
    }[shortage]
    special = {
        "max": "`top` replaces the two upper numbers by the larger one",
        "over": "`top` puts a copy of the second number from above on the stack, and needs two",
        "rotate": "`top` moves the uppermost number to the bottom of the stack, and needs two",
    }[extra]
    return (
        "A machine has a stack of numbers, empty at the start, and reads words in order. An "
        "integer is put on the stack. `add`, `sub` and `mul` replace the two upper numbers, the "
        "second from above x and the uppermost y, by x + y, x - y or x * y, each reduced modulo "
        f"{modulus} (never negative, as with Python's %); `dup` puts a second copy of the "
        f"uppermost number on the stack and needs one; `swap` exchanges the two upper ones; "
        f"{special}. A word that needs more numbers than there are {rule}. Compute the stack at "
        "the end, from bottom to top."
    )


@_four(
    "machine",
    "numbers",
    _stack_machine,
    structure=("shortage", "extra"),
    shortage=one_of("skip", "stop", "clear"),
    extra=one_of("max", "over", "rotate"),
    modulus=one_of(100, 128, 1000),
)
def stack_machine(words: list[str], shortage: str, extra: str, modulus: int) -> list[int]:
    stack: list[int] = []
    for word in words:
        if word not in ("add", "sub", "mul", "dup", "swap", "top"):
            stack.append(int(word))
            continue
        if len(stack) < (1 if word == "dup" else 2):
            if shortage == "stop":
                break
            if shortage == "clear":
                stack = []
            continue
        if word == "dup":
            stack.append(stack[-1])
        elif word == "swap":
            stack[-2:] = [stack[-1], stack[-2]]
        elif word == "top" and extra == "over":
            stack.append(stack[-2])
        elif word == "top" and extra == "rotate":
            stack.insert(0, stack.pop())
        else:
            y = stack.pop()
            x = stack.pop()
            if word == "add":
                stack.append((x + y) % modulus)
            elif word == "sub":
                stack.append((x - y) % modulus)
            elif word == "mul":
                stack.append((x * y) % modulus)
            else:
                stack.append(max(x, y))
    return stack


def _robot(edge: str, what: str, width: int, height: int) -> str:
    rule = {
        "wrap": "A step over an edge leads to the cell at the opposite edge.",
        "stay": "A step over an edge is not made.",
        "turn": "Instead of a step over an edge, the robot turns round (by half a turn) and stays.",
    }[edge]
    wanted = {
        "end": "the list x, y, d, with the last cell and the number d of the last direction (0 "
        "for north, 1 east, 2 south, 3 west)",
        "path": "the list x0, y0, x1, y1, ... of the cell at the start and the one after each "
        "character f or b, in order",
        "visits": "the list of two numbers: how many different cells it has been on, and how "
        "often it was on the starting cell at the start or after a character f or b",
    }[what]
    return (
        f"A robot stands on cell (0, 0) of a field with {width} columns (x from 0, east is +x) and "
        f"{height} rows (y from 0, north is +y) and looks north. Of the text, `l` turns it left "
        "and `r` right by a quarter turn, `f` steps one cell ahead and `b` one cell back without "
        f"turning; other characters do nothing. {rule} Compute {wanted}."
    )


@_four(
    "moves",
    "numbers",
    _robot,
    structure=("edge", "what"),
    edge=one_of("wrap", "stay", "turn"),
    what=one_of("end", "path", "visits"),
    width=between(3, 6),
    height=between(3, 6),
)
def walk_robot(moves: str, edge: str, what: str, width: int, height: int) -> list[int]:
    x = y = direction = 0
    path = [(0, 0)]
    for move in moves:
        if move == "l":
            direction = (direction - 1) % 4
        elif move == "r":
            direction = (direction + 1) % 4
        elif move in ("f", "b"):
            sign = 1 if move == "f" else -1
            new_x = x + sign * (0, 1, 0, -1)[direction]
            new_y = y + sign * (1, 0, -1, 0)[direction]
            if 0 <= new_x < width and 0 <= new_y < height:
                x, y = new_x, new_y
            elif edge == "wrap":
                x, y = new_x % width, new_y % height
            elif edge == "turn":
                direction = (direction + 2) % 4
            path.append((x, y))
    if what == "end":
        return [x, y, direction]
    if what == "path":
        return [coordinate for cell in path for coordinate in cell]
    return [len(set(path)), path.count((0, 0))]


def _automaton(edge: str, neighbours: str, steps: int, born: list[int]) -> str:
    outside = {
        "wrap": "The row is a ring: the first and the last cell are neighbours.",
        "dead": "Beyond both ends there are only empty cells.",
        "full": "Beyond both ends there are only full cells.",
    }[edge]
    near = {
        "two": "the cells at distance 1 on both sides and the cell itself",
        "four": "the cells at distance 1 and 2 on both sides, without the cell itself",
        "right": "the three cells at distance 1, 2 and 3 on the right",
    }[neighbours]
    listed = " or ".join(str(number) for number in born)
    return (
        "The text is a row of cells, `#` full and `.` empty. In one step all cells change at the "
        f"same time: a cell is full afterwards if among {near} exactly {listed} are full before, "
        f"else it is empty. {outside} On a ring, a distance goes round as often as it needs "
        "to, and a cell that is met several times counts each time. "
        f"Compute the row after {steps} steps, as text (an empty row stays empty)."
    )


@_four(
    "cells",
    "text",
    _automaton,
    structure=("edge", "neighbours"),
    edge=one_of("wrap", "dead", "full"),
    neighbours=one_of("two", "four", "right"),
    steps=between(2, 6),
    born=one_of([1], [1, 2], [2], [1, 3], [0, 2], [2, 3]),
)
def run_automaton(cells: str, edge: str, neighbours: str, steps: int, born: list[int]) -> str:
    offsets = {"two": (-1, 0, 1), "four": (-2, -1, 1, 2), "right": (1, 2, 3)}[neighbours]
    row = [cell == "#" for cell in cells]
    for _ in range(steps):
        after = []
        for place in range(len(row)):
            count = 0
            for offset in offsets:
                other = place + offset
                if edge == "wrap":
                    count += row[other % len(row)]
                elif 0 <= other < len(row):
                    count += row[other]
                elif edge == "full":
                    count += 1
            after.append(count in born)
        row = after
    return "".join("#" if full else "." for full in row)


def _servers(order: str, what: str, servers: int) -> str:
    choice = {
        "arrival": "the job that is earliest in the list",
        "short": "the job with the smallest duration, and of those the earliest in the list",
        "late": "the job that is latest in the list",
    }[order]
    wanted = {
        "waits": "the list of the waiting times (start minus arrival)",
        "ends": "the list of the times at which the jobs end",
    }[what]
    return (
        f"Each pair is a job: its arrival time and its duration (at least 1). The list is ordered "
        f"by arrival. There {'is 1 server' if servers == 1 else f'are {servers} servers'}; each "
        "does one job at a time, without a break. "
        "Whenever a server is free and jobs have arrived and wait (arrival and end of a job at "
        "this very moment included), "
        f"it starts {choice} among those that wait. Compute {wanted}, in the order of the jobs in "
        "the list."
    )


@_four(
    "jobs",
    "numbers",
    _servers,
    structure=("order", "what"),
    order=one_of("arrival", "short", "late"),
    what=one_of("waits", "ends"),
    servers=between(1, 3),
)
def serve_jobs(jobs: list[tuple[int, int]], order: str, what: str, servers: int) -> list[int]:
    free = [0] * servers
    waiting = list(range(len(jobs)))
    starts = [0] * len(jobs)
    while waiting:
        server = free.index(min(free))
        now = max(free[server], min(jobs[job][0] for job in waiting))
        ready = [job for job in waiting if jobs[job][0] <= now]
        if order == "arrival":
            job = ready[0]
        elif order == "late":
            job = ready[-1]
        else:
            job = min(ready, key=lambda one: (jobs[one][1], one))
        waiting.remove(job)
        starts[job] = now
        free[server] = now + jobs[job][1]
    if what == "waits":
        return [start - job[0] for start, job in zip(starts, jobs, strict=True)]
    return [start + job[1] for start, job in zip(starts, jobs, strict=True)]


def _cache(policy: str, what: str, size: int) -> str:
    victim = {
        "recent": "whose last use is longest ago",
        "oldest": "that was brought in longest ago",
        "rarest": "that has been used least often since it was brought in (bringing it in is its "
        "first use), and of those the one whose last use is longest ago",
    }[policy]
    wanted = {
        "hits": "the list of the positions (from 0) of the numbers that were in the store",
        "content": "the list of what is in the store at the end, sorted from small to large",
        "dropped": "the list of what was thrown out, in order",
    }[what]
    return (
        f"A store has room for {size} different numbers and is empty at the start. The numbers of "
        "the list are used one after another. A number that is in the store is just used; any "
        f"other is brought in and used, and if the store is full, first the number {victim} is "
        f"thrown out. Compute {wanted}."
    )


@_four(
    "small_numbers",
    "numbers",
    _cache,
    structure=("policy", "what"),
    policy=one_of("recent", "oldest", "rarest"),
    what=one_of("hits", "content", "dropped"),
    size=between(2, 4),
)
def simulate_store(values: list[int], policy: str, what: str, size: int) -> list[int]:
    entered: dict[int, int] = {}
    used: dict[int, int] = {}
    uses: dict[int, int] = {}
    hits = []
    dropped = []
    for time, value in enumerate(values):
        if value in entered:
            hits.append(time)
        else:
            if len(entered) == size:
                if policy == "recent":
                    victim = min(entered, key=lambda one: used[one])
                elif policy == "oldest":
                    victim = min(entered, key=lambda one: entered[one])
                else:
                    victim = min(entered, key=lambda one: (uses[one], used[one]))
                dropped.append(victim)
                del entered[victim]
            entered[value] = time
            uses[value] = 0
        used[value] = time
        uses[value] += 1
    if what == "hits":
        return hits
    if what == "dropped":
        return dropped
    return sorted(entered)
