"""Larger algorithms, with which tasks of levels 3 to 5 begin.

Recurrences, parsers, simulations, grids, graphs, dynamic programming.

They are operations like those of `execgym.envs.coding.operations`, but take an input kind of their
own, and have structural parameters that change the algorithm and its description.
"""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103, RUF007
from execgym.envs.coding.operations import Operation, between, one_of, operation_registry

ALGORITHMS: dict[int, dict[str, Operation]] = {3: {}, 4: {}, 5: {}}
"""By level and name."""

_three = operation_registry(ALGORITHMS[3])
_four = operation_registry(ALGORITHMS[4])
_five = operation_registry(ALGORITHMS[5])


# ---- level 3 -----------------------------------------------------------------------------------


def _recurrence_rule(first: int, second: int, p: int, q: int, extra: str, modulus: int) -> str:
    term = {"constant": "7", "index": "n", "parity": "(n modulo 2)"}[extra]
    return (
        f"A sequence begins with a(0) = {first} and a(1) = {second}. For n >= 2, a(n) = ({p} * "
        f"a(n-1) + {q} * a(n-2) + {term}) modulo {modulus}."
    )


def _recurrence_value(what: str, **rule: int | str) -> str:
    wanted = {
        "value": "a(index)",
        "sum": "the sum of a(0), ..., a(index)",
        "evens": "how many of a(0), ..., a(index) are even",
        "maximum": "the largest of a(0), ..., a(index)",
    }[what]
    return f"{_recurrence_rule(**rule)} Compute {wanted}."  # type: ignore[arg-type]


@_three(
    "index",
    "number",
    _recurrence_value,
    structure=("what", "extra"),
    what=one_of("value", "sum", "evens", "maximum"),
    first=between(0, 9),
    second=between(1, 9),
    p=between(1, 5),
    q=between(1, 5),
    extra=one_of("constant", "index", "parity"),
    modulus=one_of(97, 103, 211, 499),
)
def recurrence_number(
    index: int, what: str, first: int, second: int, p: int, q: int, extra: str, modulus: int
) -> int:
    terms = [first, second]
    for n in range(2, index + 1):
        term = {"constant": 7, "index": n, "parity": n % 2}[extra]
        terms.append((p * terms[-1] + q * terms[-2] + term) % modulus)
    terms = terms[: index + 1]
    if what == "value":
        return terms[-1]
    if what == "sum":
        return sum(terms)
    if what == "evens":
        return sum(term % 2 == 0 for term in terms)
    return max(terms)


def _recurrence_terms(order: str, **rule: int | str) -> str:
    wanted = {
        "forwards": "the list a(0), ..., a(index)",
        "backwards": "the list a(index), ..., a(0)",
        "records": "the list of those of a(0), ..., a(index), in order, that are larger than all "
        "terms before them (a(0) is always among them)",
    }[order]
    return f"{_recurrence_rule(**rule)} Compute {wanted}."  # type: ignore[arg-type]


@_three(
    "index",
    "numbers",
    _recurrence_terms,
    structure=("order", "extra"),
    order=one_of("forwards", "backwards", "records"),
    first=between(0, 9),
    second=between(1, 9),
    p=between(1, 4),
    q=between(1, 4),
    extra=one_of("constant", "index", "parity"),
    modulus=one_of(53, 71, 89),
)
def recurrence_terms(
    index: int, order: str, first: int, second: int, p: int, q: int, extra: str, modulus: int
) -> list[int]:
    terms = [first, second]
    for n in range(2, index + 1):
        term = {"constant": 7, "index": n, "parity": n % 2}[extra]
        terms.append((p * terms[-1] + q * terms[-2] + term) % modulus)
    terms = terms[: index + 1]
    if order == "backwards":
        return terms[::-1]
    if order == "records":
        return [term for n, term in enumerate(terms) if all(term > old for old in terms[:n])]
    return terms


def _merge(gap: int, what: str) -> str:
    joined = (
        "overlap or touch (the end of one is the start of the other)"
        if gap == 0
        else f"overlap, touch, or have at most {gap} between the end of one and the start of the "
        "other"
    )
    wanted = {
        "ends": "the list start, end, start, end, ... of the merged intervals, ordered by start",
        "lengths": "the list of their lengths (end minus start), ordered by start",
        "gaps": "the list of the gaps between neighbouring merged intervals (start of the later "
        "minus end of the earlier), ordered by start",
    }[what]
    return (
        f"Each pair (start, end) is an interval with start <= end. Merge intervals that {joined}, "
        f"until no two of them can be merged; a merged interval goes from the smallest start to "
        f"the largest end. Compute {wanted}."
    )


@_three(
    "intervals",
    "numbers",
    _merge,
    structure=("gap", "what"),
    gap=one_of(0, 1, 2),
    what=one_of("ends", "lengths", "gaps"),
)
def merge_intervals(intervals: list[tuple[int, int]], gap: int, what: str) -> list[int]:
    merged: list[list[int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1] + gap:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    if what == "lengths":
        return [end - start for start, end in merged]
    if what == "gaps":
        return [after[0] - before[1] for before, after in zip(merged, merged[1:], strict=False)]
    return [point for interval in merged for point in interval]


def _ledger(shortage: str, fee: int, closing: str) -> str:
    rule = {
        "refuse": "A `take` or `move` of more than the account holds is ignored as a whole.",
        "partial": "A `take` or `move` of more than the account holds is done with what it "
        "holds instead, or with 0 if that is less than 0.",
        "debt": "An account may fall below 0 without bound.",
    }[shortage]
    end = {
        "all": "every account that has been named in any command",
        "nonzero": "every account whose balance is not 0",
    }[closing]
    return (
        "Accounts begin at 0. The commands are `put NAME AMOUNT`, which adds to an account, `take "
        "NAME AMOUNT`, which takes from it, and `move NAME OTHER AMOUNT`, which takes from NAME "
        f"and adds as much to OTHER. {rule} Every command, also an ignored one, that begins with "
        f"`move` costs NAME a fee of {fee} after it, which may bring it below 0. Compute a "
        f"dictionary from the name to the balance at the end of {end}."
    )


@_three(
    "ledger",
    "table",
    _ledger,
    structure=("shortage", "closing"),
    shortage=one_of("refuse", "partial", "debt"),
    fee=between(1, 3),
    closing=one_of("all", "nonzero"),
)
def settle_ledger(commands: list[str], shortage: str, fee: int, closing: str) -> dict[str, int]:
    balances: dict[str, int] = {}
    for command in commands:
        kind, *names, last = command.split()
        amount = int(last)
        for name in names:
            balances.setdefault(name, 0)
        source = names[0]
        if kind == "put":
            balances[source] += amount
            continue
        if shortage == "partial":
            amount = max(0, min(amount, balances[source]))
        if shortage != "refuse" or amount <= balances[source]:
            balances[source] -= amount
            if kind == "move":
                balances[names[1]] += amount
        if kind == "move":
            balances[source] -= fee
    if closing == "nonzero":
        return {name: balance for name, balance in balances.items() if balance != 0}
    return balances


# ---- level 4 -----------------------------------------------------------------------------------


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


# ---- level 5 -----------------------------------------------------------------------------------


def _grid_path(moves: str, what: str, mud: int) -> str:
    steps = {
        "four": "to the four cells above, below, left and right",
        "eight": "to the eight cells around it, diagonal ones included",
        "knight": "as a chess knight jumps (two cells in one direction and one across)",
    }[moves]
    wanted = {
        "corner": "the smallest cost of a way from the upper left to the lower right cell, or -1 "
        "if there is none",
        "farthest": "the largest of the smallest costs of ways from the upper left cell to each "
        "cell that can be reached (0 if only the cell itself can)",
        "reached": "how many cells, the upper left one included, can be reached from the upper "
        f"left cell by ways that cost at most {mud + 4}",
    }[what]
    return (
        "The grid is a list of rows of equal length, at least one row and one column; `.` is "
        f"free, `~` is mud, `#` is wall. A step goes {steps}, within the grid and never onto a "
        f"wall. A step onto a free cell costs 1, a step onto mud {mud}. Compute {wanted}. If the "
        "upper left cell is a wall, the result is -1."
    )


@_five(
    "grid",
    "number",
    _grid_path,
    structure=("moves", "what"),
    moves=one_of("four", "eight", "knight"),
    what=one_of("corner", "farthest", "reached"),
    mud=between(2, 4),
)
def cross_grid(grid: list[str], moves: str, what: str, mud: int) -> int:
    if grid[0][0] == "#":
        return -1
    if moves == "knight":
        steps = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]
    else:
        steps = [(0, 1), (1, 0), (0, -1), (-1, 0)]
        if moves == "eight":
            steps += [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    costs = {(0, 0): 0}
    pending = [(0, 0)]
    while pending:
        row, column = pending.pop(0)
        for down, right in steps:
            to = (row + down, column + right)
            if not (0 <= to[0] < len(grid) and 0 <= to[1] < len(grid[0])):
                continue
            cell = grid[to[0]][to[1]]
            if cell == "#":
                continue
            cost = costs[row, column] + (mud if cell == "~" else 1)
            if to not in costs or cost < costs[to]:
                costs[to] = cost
                pending.append(to)
    if what == "farthest":
        return max(costs.values())
    if what == "reached":
        return sum(cost <= mud + 4 for cost in costs.values())
    return costs.get((len(grid) - 1, len(grid[0]) - 1), -1)


def _life(edge: str, near: str, born: list[int], stays: list[int], steps: int) -> str:
    around = {
        "eight": "the eight cells around a cell",
        "four": "the four cells above, below, left and right of a cell",
        "diagonal": "the four cells that touch a cell at a corner",
    }[near]
    outside = {
        "dead": "Outside the grid there are only dead cells.",
        "wrap": "The grid is a torus: the first row follows the last one and the first column the "
        "last one. A cell that is a neighbour in several ways counts each time, also a cell that "
        "is its own neighbour.",
    }[edge]
    births = " or ".join(str(number) for number in born)
    stayers = " or ".join(str(number) for number in stays)
    return (
        "The grid is a list of rows of equal length, at least one row and one column; `#` is "
        f"alive, every other character is dead. In one step all cells change at once, according "
        f"to how many of {around} are alive: a dead cell comes alive with exactly {births}, a "
        f"living cell stays alive with exactly {stayers}, all others are dead. {outside} Compute "
        f"the list of the numbers of living cells in each row after {steps} steps."
    )


@_five(
    "grid",
    "numbers",
    _life,
    structure=("edge", "near"),
    edge=one_of("dead", "wrap"),
    near=one_of("eight", "four", "diagonal"),
    born=one_of([1], [2], [1, 2], [3], [1, 3]),
    stays=one_of([1, 2], [2, 3], [0, 2], [1, 3], [2]),
    steps=between(1, 3),
)
def grow_cells(
    grid: list[str], edge: str, near: str, born: list[int], stays: list[int], steps: int
) -> list[int]:
    straight = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    diagonal = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    around = {"eight": straight + diagonal, "four": straight, "diagonal": diagonal}[near]
    height, width = len(grid), len(grid[0])
    alive = {(r, c) for r in range(height) for c in range(width) if grid[r][c] == "#"}
    for _ in range(steps):
        after = set()
        for r in range(height):
            for c in range(width):
                count = 0
                for down, right in around:
                    cell = (r + down, c + right)
                    if edge == "wrap":
                        cell = (cell[0] % height, cell[1] % width)
                    count += cell in alive
                if count in (stays if (r, c) in alive else born):
                    after.add((r, c))
        alive = after
    return [sum((r, c) in alive for c in range(width)) for r in range(height)]


def _graph(what: str, directed: bool) -> str:
    ways = "from a to b only" if directed else "in both directions"
    wanted = {
        "distances": "the list of the smallest numbers of links from node 0 to each node, in the "
        "order of the nodes, with -1 for nodes that cannot be reached",
        "reach": "the list of how many nodes, itself included, each node can reach, in the order "
        "of the nodes",
        "peel": "the order in which nodes are removed: again and again, remove the node to which "
        "the fewest links lead from other nodes that are still there (links given more than once "
        "count once), and of those the one with the smallest number, until none is left",
    }[what]
    return (
        f"There are `count` nodes, numbered from 0. Each pair (a, b) is a link that leads {ways}; "
        f"a link may be given more than once, and a may be b. Compute {wanted}."
    )


@_five(
    "graph",
    "numbers",
    _graph,
    structure=("what", "directed"),
    what=one_of("distances", "reach", "peel"),
    directed=one_of(True, False),
)
def explore_graph(count: int, links: list[tuple[int, int]], what: str, directed: bool) -> list[int]:
    follows: list[set[int]] = [set() for _ in range(count)]
    for a, b in links:
        follows[a].add(b)
        if not directed:
            follows[b].add(a)
    if what == "peel":
        left = set(range(count))
        order = []
        while left:
            node = min(
                left,
                key=lambda one: (sum(one in follows[n] for n in left if n != one), one),
            )
            left.remove(node)
            order.append(node)
        return order
    tables = []
    for start in range(count):
        distances = {start: 0}
        pending = [start]
        for node in pending:
            for other in follows[node]:
                if other not in distances:
                    distances[other] = distances[node] + 1
                    pending.append(other)
        tables.append(distances)
    if what == "reach":
        return [len(distances) for distances in tables]
    return [tables[0].get(node, -1) for node in range(count)]


def _selection(gap: int, ring: bool, bound: str, limit: int) -> str:
    apart = f"any two chosen positions differ by more than {gap}" + (
        ", also when counted across the ends, the list being a ring" if ring else ""
    )
    amount = {
        "any": "any number of positions, also none (sum 0)",
        "most": f"at most {limit} positions, also none (sum 0)",
    }[bound]
    return (
        f"Choose {amount} of the list such that {apart}. Compute the largest possible sum of the "
        "numbers at the chosen positions."
        + (
            " On a ring of n numbers, positions i < j differ by the smaller of j - i and "
            "n - (j - i)."
            if ring
            else ""
        )
    )


@_five(
    "numbers",
    "number",
    _selection,
    structure=("gap", "ring", "bound"),
    gap=between(1, 3),
    ring=one_of(True, False),
    bound=one_of("any", "most"),
    limit=between(2, 3),
)
def best_selection(values: list[int], gap: int, ring: bool, bound: str, limit: int) -> int:
    most = limit if bound == "most" else len(values)

    def best(low: int, high: int, picks: int) -> int:
        # table[p][i]: the best sum of at most p positions from the first i of values[low:high].
        table = [[0] * (max(0, high - low) + 1) for _ in range(picks + 1)]
        for p in range(1, picks + 1):
            for i in range(1, high - low + 1):
                taken = table[p - 1][max(0, i - 1 - gap)] + values[low + i - 1]
                table[p][i] = max(table[p][i - 1], taken)
        return table[picks][-1]

    if not ring:
        return best(0, len(values), most)
    result = 0
    for first in range(len(values)):
        end = min(len(values), first - gap + len(values))
        rest = best(first + gap + 1, end, most - 1)
        result = max(result, values[first] + max(0, rest))
    return result


def _coins(what: str, coins: list[int], cap: int) -> str:
    listed = ", ".join(str(coin) for coin in coins)
    wanted = {
        "ways": "in how many ways the amount can be paid (ways that differ only in order are the "
        "same; 0 can be paid in one way)",
        "ordered": "in how many ways the amount can be paid when the order of the coins matters (0 "
        "can be paid in one way), modulo 10007",
        "fewest": "the smallest number of coins that pay the amount, or -1 if it cannot be paid",
    }[what]
    bound = {
        "ways": f" No coin value may be used more than {cap} times.",
        "ordered": " Two coins of the same value must not follow each other directly.",
        "fewest": f" No coin value may be used more than {cap} times.",
    }[what]
    return (
        f"There are coins of the values {listed}.{bound} Compute {wanted}. (`index` is the amount.)"
    )


@_five(
    "index",
    "number",
    _coins,
    structure=("what",),
    what=one_of("ways", "ordered", "fewest"),
    coins=one_of([1, 3, 4], [2, 3, 7], [1, 5, 6, 8], [3, 4, 5], [2, 5, 6], [1, 2, 5]),
    cap=between(3, 6),
)
def pay_amount(index: int, what: str, coins: list[int], cap: int) -> int:
    if what == "ordered":
        # last[a][c]: the ways to pay a that end with coin c; c = 0 stands for no coin at all.
        last: list[dict[int, int]] = [{0: 1}]
        for amount in range(1, index + 1):
            ways: dict[int, int] = {}
            for coin in coins:
                if coin <= amount:
                    before = last[amount - coin]
                    ways[coin] = sum(n for other, n in before.items() if other != coin) % 10007
            last.append(ways)
        return sum(last[index].values()) % 10007
    table: dict[int, list[int]] = {0: [1, 0]}
    for coin in coins:
        after: dict[int, list[int]] = {}
        for amount, (ways_to, fewest) in table.items():
            for times in range(cap + 1):
                paid = amount + times * coin
                if paid > index:
                    break
                old = after.get(paid)
                if old is None:
                    after[paid] = [ways_to, fewest + times]
                else:
                    old[0] += ways_to
                    old[1] = min(old[1], fewest + times)
        table = after
    if what == "ways":
        return table.get(index, [0, -1])[0]
    return table.get(index, [0, -1])[1]


def _expression(tight: str, side: str, minus: str) -> str:
    order = {
        "plus": "`+` and `-` bind tighter than `*`",
        "times": "`*` binds tighter than `+` and `-`",
        "equal": "all operators bind equally",
    }[tight]
    grouping = {
        "left": "operators that bind equally are applied from left to right",
        "right": "operators that bind equally are applied from right to left",
    }[side]
    meaning = {
        "minus": "x - y is x minus y",
        "distance": "x - y is the absolute value of x minus y",
    }[minus]
    return (
        "The text is an expression of non-negative integers, the operators `+`, `-` and `*`, and "
        f"parentheses, without spaces and without signs before numbers. Here {order}, {grouping}, "
        f"parentheses go first as usual, and {meaning}. Compute its value."
    )


@_five(
    "expression",
    "number",
    _expression,
    structure=("tight", "side", "minus"),
    tight=one_of("plus", "times", "equal"),
    side=one_of("left", "right"),
    minus=one_of("minus", "distance"),
)
def evaluate_expression(expression: str, tight: str, side: str, minus: str) -> int:
    binds = {
        "plus": {"+": 2, "-": 2, "*": 1},
        "times": {"+": 1, "-": 1, "*": 2},
        "equal": {"+": 1, "-": 1, "*": 1},
    }[tight]
    numbers: list[int] = []
    operators: list[str] = []

    def apply() -> None:
        operator = operators.pop()
        y = numbers.pop()
        x = numbers.pop()
        if operator == "+":
            numbers.append(x + y)
        elif operator == "*":
            numbers.append(x * y)
        else:
            numbers.append(abs(x - y) if minus == "distance" else x - y)

    place = 0
    while place < len(expression):
        char = expression[place]
        place += 1
        if char.isdigit():
            digits = char
            while place < len(expression) and expression[place].isdigit():
                digits += expression[place]
                place += 1
            numbers.append(int(digits))
        elif char == "(":
            operators.append(char)
        elif char == ")":
            while operators[-1] != "(":
                apply()
            operators.pop()
        else:
            while operators and operators[-1] != "(":
                if binds[operators[-1]] < binds[char]:
                    break
                if binds[operators[-1]] == binds[char] and side == "right":
                    break
                apply()
            operators.append(char)
    while operators:
        apply()
    return numbers[0]


def _alignment(what: str, insert: int, replace: int) -> str:
    match = {
        "case": "Replacing a letter by the same letter in the other case is free.",
        "swap": "Exchanging two neighbouring characters is also a change and costs 1; a character "
        "that has been exchanged is not changed again, nor is anything put between the two.",
        "plain": "Nothing else is free or cheaper.",
    }[what]
    return (
        f"Two texts are given. The first is to be changed into the second, where inserting a "
        f"character costs {insert}, deleting one costs 1, and replacing one by another costs "
        f"{replace}. Leaving a character as it is is free. {match} Compute the smallest total "
        "cost, taking the texts from left to right (each character of the first text is kept, "
        "changed once, or deleted)."
    )


@_five(
    "two_texts",
    "number",
    _alignment,
    structure=("what", "insert"),
    what=one_of("case", "swap", "plain"),
    insert=between(1, 3),
    replace=between(1, 4),
)
def change_cost(first: str, second: str, what: str, insert: int, replace: int) -> int:
    rows, columns = len(first) + 1, len(second) + 1
    table = [[0] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            options = []
            if i == 0 and j == 0:
                continue
            if i:
                options.append(table[i - 1][j] + 1)
            if j:
                options.append(table[i][j - 1] + insert)
            if i and j:
                a, b = first[i - 1], second[j - 1]
                same = a == b or (what == "case" and a.lower() == b.lower())
                options.append(table[i - 1][j - 1] + (0 if same else replace))
            if what == "swap" and i > 1 and j > 1:
                crossed = first[i - 1] == second[j - 2] and first[i - 2] == second[j - 1]
                if crossed:
                    options.append(table[i - 2][j - 2] + 1)
            table[i][j] = min(options)
    return table[-1][-1]
