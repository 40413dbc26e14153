"""Programs that differ from a right one in one thing: what a judge has to tell apart from it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


def python_mutants(
    source: str,
    *,
    words: Mapping[str, Sequence[str]] | None = None,
    methods: Mapping[str, Sequence[str]] | None = None,
    free_keywords: Sequence[str] = (),
) -> list[str]:
    """Return programs that differ from a Python program in one thing each.

    They turn a comparison, an operator, an `and` or an `or`, change a number, put another word or
    method in the place of one, leave out a statement, or leave out a step of a chain of methods.
    Some mean the same as the program or do not run: whoever calls finds out which.

    Args:
        source: The program.
        words: Text constants, and what is put in their place.
        methods: Names of attributes, and what is put in their place.
        free_keywords: Keyword arguments whose value does not matter, so is left as it is.

    Raises:
        SyntaxError: `source` is no Python program.
    """
    tree = ast.parse(source)
    words, methods = words or {}, methods or {}
    free = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in free_keywords
    }
    found: dict[str, None] = {}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in free:
            continue
        for change in [*_changes(node, words, methods), *_omissions(node)]:
            mutant = copy.deepcopy(tree)
            twin = next(one for index, one in enumerate(ast.walk(mutant)) if index == number)
            change(twin)
            found[ast.unparse(ast.fix_missing_locations(mutant))] = None
    found.pop(ast.unparse(tree), None)
    return list(found)


_Change = Callable[[ast.AST], None]


def _changes(
    node: ast.AST, words: Mapping[str, Sequence[str]], methods: Mapping[str, Sequence[str]]
) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=[operator]):
            for turned in _COMPARISONS.get(type(operator), ()):
                yield _setting("ops", [turned()])
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            yield _setting("op", _OPERATORS[type(operator)]())
        case ast.BoolOp(op=junction):
            yield _setting("op", ast.Or() if isinstance(junction, ast.And) else ast.And())
        case ast.Constant(value=bool(value)):
            yield _setting("value", not value)
        case ast.Constant(value=(int() | float()) as value):
            yield _setting("value", value - 1)
            yield _setting("value", value * 2 + 1)
        case ast.Constant(value=str(text)):
            for word in words.get(text, ()):
                yield _setting("value", word)
        case ast.Attribute(attr=name):
            for method in methods.get(name, ()):
                yield _setting("attr", method)
        case ast.Call(func=ast.Attribute(value=ast.Call())):
            yield _without_last_step


def _omissions(node: ast.AST) -> Iterator[_Change]:
    body = getattr(node, "body", None)
    if isinstance(body, list) and len(body) > 1:
        for place in range(len(body)):
            yield _leaving_out(place)


def _setting(name: str, value: object) -> _Change:
    return lambda node: setattr(node, name, value)


def _leaving_out(place: int) -> _Change:
    def change(node: ast.AST) -> None:
        del node.body[place]  # type: ignore[attr-defined]

    return change


def _without_last_step(node: ast.AST) -> None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner)):
            node.func, node.args, node.keywords = inner.func, inner.args, inner.keywords
