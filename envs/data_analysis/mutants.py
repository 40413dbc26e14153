"""Wrong programs that look like a right one: what the fillings of a task have to tell apart."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Lt, ast.Gt),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Mult: ast.Add,
    ast.Sub: ast.Add,
    ast.Add: ast.Sub,
    ast.Div: ast.Mult,
}
_WORDS = {
    "mean": ("median", "sum"),
    "median": ("mean",),
    "min": ("max",),
    "max": ("min",),
    "size": ("sum",),
    "nunique": ("count",),
    "std": ("var",),
    "last": ("first",),
    "%Y-%m": ("%m", "%Y-%m-%d"),
    "%Y-%m-%dT%H:%M:%SZ": ("%Y-%m-%d",),
    "%d.%m.%Y %H:%M:%S": ("%m.%d.%Y %H:%M:%S",),
}
_METHODS = {
    "cumsum": ("cummax", "diff"),
    "diff": ("cumsum",),
    "sum": ("mean", "max"),
    "hour": ("minute",),
    "day_name": ("month_name",),
    "lower": ("upper",),
    "head": ("tail",),
}


def mutants(source: str) -> list[str]:
    """Return programs that differ from `source` in one thing each.

    They turn a comparison or an operator, change a number, take another statistic, format or
    method, turn an order, leave out a statement, or leave out a step of a chain of methods. Some
    are equivalent to `source` or do not run.
    """
    tree = ast.parse(source)
    original = ast.unparse(tree)
    found = dict.fromkeys(_all(tree))
    found.pop(original, None)
    return list(found)


def _all(tree: ast.Module) -> Iterator[str]:
    # The index of a written table is left out by whoever reads it.
    free = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "index"
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in free:
            continue
        for change in range(_changes(node)):
            mutant = copy.deepcopy(tree)
            twin = next(one for index, one in enumerate(ast.walk(mutant)) if index == number)
            _change(twin, change)
            yield ast.unparse(ast.fix_missing_locations(mutant))
    for number, node in enumerate(ast.walk(tree)):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or len(body) < 2:
            continue
        for place in range(len(body)):
            mutant = copy.deepcopy(tree)
            twin = next(one for index, one in enumerate(ast.walk(mutant)) if index == number)
            del twin.body[place]  # type: ignore[attr-defined]
            yield ast.unparse(mutant)


def _changes(node: ast.AST) -> int:
    """Return in how many ways a node can be changed."""
    match node:
        case ast.Compare(ops=[operator]):
            return len(_COMPARISONS.get(type(operator), ()))
        case ast.BinOp(op=operator):
            return int(type(operator) in _OPERATORS)
        case ast.Constant(value=bool()):
            return 1
        case ast.Constant(value=int() | float()):
            return 2
        case ast.Constant(value=str(text)):
            return len(_WORDS.get(text, ()))
        case ast.Attribute(attr=name):
            return len(_METHODS.get(name, ()))
        case ast.Call(func=ast.Attribute(value=ast.Call())):
            return 1
    return 0


def _change(node: ast.AST, change: int) -> None:
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [_COMPARISONS[type(operator)][change]()]
        case ast.BinOp(op=operator):
            node.op = _OPERATORS[type(operator)]()
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=(int() | float()) as value):
            node.value = value * 2 + 1 if change else value - 1
        case ast.Constant(value=str(text)):
            node.value = _WORDS[text][change]
        case ast.Attribute(attr=name):
            node.attr = _METHODS[name][change]
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner)):
            # The chain without its last step.
            node.func, node.args, node.keywords = inner.func, inner.args, inner.keywords
