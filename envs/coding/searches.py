"""Algorithms of level 5: grids, graphs, dynamic programming, parsing."""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103
from execgym.envs.coding.operation import Operation, between, one_of, operation_registry

SEARCHES: dict[str, Operation] = {}

_five = operation_registry(SEARCHES)


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
