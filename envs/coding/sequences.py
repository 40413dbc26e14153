"""Algorithms of level 3: recurrences, intervals, accounts."""

from __future__ import annotations

# The source of these functions is what the reference solutions are made of.
# ruff: noqa: D103, RUF007
from execgym.envs.coding.operation import Operation, between, one_of, operation_registry

SEQUENCES: dict[str, Operation] = {}

_three = operation_registry(SEQUENCES)


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
