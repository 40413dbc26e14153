"""What the functions and programs of generated tasks take and give: drawing and writing it.

Readers and writers are plain functions of built-ins only: their source text is part of the
reference programs.
"""

from __future__ import annotations

# ruff: noqa: D103 - the source of the readers and writers goes into reference programs.
import dataclasses
import random
from collections.abc import Callable
from typing import Any

Arguments = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InputKind:
    """A kind of input.

    Attributes:
        parameters: Names and annotations of the function's parameters.
        meaning: What they are, for a function.
        layout: How they stand on standard input, for a program.
        draw: Draws one input; `size` goes from 0, the smallest edge case, to 1.
        render: Writes an input as standard input.
        reader: Reads it from there, and returns the tuple of arguments.
    """

    parameters: tuple[tuple[str, str], ...]
    meaning: str
    layout: str
    draw: Callable[[random.Random, float], Arguments]
    render: Callable[[Arguments], str]
    reader: Callable[[], Arguments]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OutputKind:
    """A kind of result.

    Attributes:
        annotation: Its type.
        layout: How a program prints it.
        writer: Returns what is printed. It is never empty.
    """

    annotation: str
    layout: str
    writer: Callable[[Any], str]


def read_numbers() -> tuple[list[int]]:
    input()
    return ([int(part) for part in input().split()],)


def read_index() -> tuple[int]:
    return (int(input()),)


def read_text() -> tuple[str]:
    return (input(),)


def read_two_texts() -> tuple[str, str]:
    return (input(), input())


def read_words() -> tuple[list[str]]:
    return (input().split(),)


def read_lines() -> tuple[list[str]]:
    return ([input() for _ in range(int(input()))],)


def read_pairs() -> tuple[list[tuple[int, int]]]:
    pairs = []
    for _ in range(int(input())):
        first, second = input().split()
        pairs.append((int(first), int(second)))
    return (pairs,)


def read_graph() -> tuple[int, list[tuple[int, int]]]:
    count, links = (int(part) for part in input().split())
    pairs = []
    for _ in range(links):
        first, second = input().split()
        pairs.append((int(first), int(second)))
    return (count, pairs)


def write_number(value: int) -> str:
    return str(value)


def write_numbers(values: list[int]) -> str:
    return " ".join(str(value) for value in values) if values else "EMPTY"


def write_text(text: str) -> str:
    return "[" + text + "]"


def write_words(words: list[str]) -> str:
    return "\n".join(words) if words else "EMPTY"


def write_table(table: dict[Any, int]) -> str:
    return "\n".join(f"{key} {table[key]}" for key in sorted(table)) if table else "EMPTY"


_SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "ra", "so", "te", "vi", "zo", "an", "el", "or", "Ti")
_NAMES = ("ada", "bo", "cy", "dee", "eli")


def _length(generator: random.Random, size: float, longest: int) -> int:
    if size <= 0:
        return 0
    return max(1, round(size * longest * generator.uniform(0.6, 1.0)))


def _draw_numbers(generator: random.Random, size: float) -> Arguments:
    reach = generator.choice((4, 12, 40))
    return ([generator.randint(-reach, reach) for _ in range(_length(generator, size, 14))],)


def _draw_small_numbers(generator: random.Random, size: float) -> Arguments:
    reach = generator.choice((4, 6, 8))
    return ([generator.randint(1, reach) for _ in range(_length(generator, size, 18))],)


def _draw_index(generator: random.Random, size: float) -> Arguments:
    return (round(size * 24) + (generator.randint(0, 6) if size > 0.2 else 0),)


def _word(generator: random.Random) -> str:
    word = "".join(generator.choice(_SYLLABLES) for _ in range(generator.randint(1, 3)))
    style = generator.random()
    if style < 0.25:
        word = word.capitalize()
    elif style < 0.35:
        word = word.upper()
    elif style < 0.42:
        word += generator.choice(word)
    elif style < 0.46:
        word += "é"
    return word


def _draw_text(generator: random.Random, size: float) -> Arguments:
    pieces = []
    for _ in range(_length(generator, size, 6)):
        piece = _word(generator)
        style = generator.random()
        if style < 0.25:
            piece = str(generator.randint(0, 300))
        elif style < 0.35:
            piece += str(generator.randint(0, 99))
        elif style < 0.45:
            piece += generator.choice((",", ".", "!", "ss", "oo", "--"))
        elif style < 0.5:
            piece = ""
        pieces.append(piece)
    return (" ".join(pieces),)


def _draw_words(generator: random.Random, size: float) -> Arguments:
    words = [_word(generator) for _ in range(_length(generator, size, 8))]
    if len(words) > 2 and generator.random() < 0.6:
        words[-1] = generator.choice(words[:-1]).swapcase()
    if len(words) > 3 and generator.random() < 0.6:
        words[1] = words[0]
    return (words,)


def _draw_intervals(generator: random.Random, size: float) -> Arguments:
    intervals = []
    for _ in range(_length(generator, size, 9)):
        start = generator.randint(-20, 25)
        intervals.append((start, start + generator.choice((0, 1, 2, 3, 6))))
    return (intervals,)


def _draw_jobs(generator: random.Random, size: float) -> Arguments:
    jobs = []
    time = 0
    for _ in range(_length(generator, size, 9)):
        time += generator.choice((0, 0, 1, 2, 4))
        jobs.append((time, generator.randint(1, 7)))
    return (jobs,)


def _draw_ledger(generator: random.Random, size: float) -> Arguments:
    commands = []
    for _ in range(_length(generator, size, 12)):
        kind = generator.choice(("put", "put", "take", "move"))
        names = generator.sample(_NAMES, 2)
        amount = generator.choice((1, 2, 3, 3, 4, 6, 9))
        if kind == "move":
            commands.append(f"move {names[0]} {names[1]} {amount}")
        else:
            commands.append(f"{kind} {names[0]} {amount}")
    return (commands,)


def _draw_machine(generator: random.Random, size: float) -> Arguments:
    words: list[str] = []
    for place in range(_length(generator, size, 16)):
        if generator.random() < (0.75 if place < 4 else 0.42):
            words.append(str(generator.randint(-9, 30)))
        else:
            words.append(generator.choice(("add", "sub", "mul", "dup", "swap", "top", "top")))
    return (words,)


def _draw_moves(generator: random.Random, size: float) -> Arguments:
    length = _length(generator, size, 22)
    return ("".join(generator.choice("fffffbbllrrx") for _ in range(length)),)


def _draw_cells(generator: random.Random, size: float) -> Arguments:
    return ("".join(generator.choice(".#") for _ in range(_length(generator, size, 18))),)


def _draw_grid(generator: random.Random, size: float) -> Arguments:
    height = max(1, round(size * 6 * generator.uniform(0.6, 1.0)))
    width = max(1, round(size * 7 * generator.uniform(0.6, 1.0)))
    palette = generator.choice(("...~#", "..~~#", "....##", "..~##"))
    rows = [[generator.choice(palette) for _ in range(width)] for _ in range(height)]
    if generator.random() < 0.9:
        rows[0][0] = "."
    return (["".join(row) for row in rows],)


def _draw_graph(generator: random.Random, size: float) -> Arguments:
    count = max(1, round(size * 9))
    links = [
        (generator.randrange(count), generator.randrange(count))
        for _ in range(round(size * generator.choice((6, 10, 16))))
    ]
    return (count, links)


def _draw_expression(generator: random.Random, size: float) -> Arguments:
    def expression(depth: int) -> str:
        parts = [operand(depth)]
        for _ in range(generator.randint(1, 3)):
            parts += [generator.choice("+-*-"), operand(depth)]
        return "".join(parts)

    def operand(depth: int) -> str:
        if depth and generator.random() < 0.4:
            return f"({expression(depth - 1)})"
        return str(generator.choice((0, 1, 2, 3, 4, 5, 7, 9, 12)))

    if size <= 0:
        return (str(generator.randint(0, 99)),)
    return (expression(round(size * 2)),)


def _draw_two_texts(generator: random.Random, size: float) -> Arguments:
    first = "".join(generator.choice("abAB") for _ in range(_length(generator, size, 8)))
    second = list(first)
    for _ in range(generator.randint(0, 4)):
        place = generator.randint(0, len(second))
        change = generator.random()
        if change < 0.35:
            second.insert(place, generator.choice("abAB"))
        elif change < 0.6 and place < len(second):
            second[place] = generator.choice("abAB").swapcase()
        elif change < 0.8 and place + 1 < len(second):
            second[place], second[place + 1] = second[place + 1], second[place]
        elif place < len(second):
            del second[place]
    return (first, "".join(second))


def _render_numbers(arguments: Arguments) -> str:
    (values,) = arguments
    return f"{len(values)}\n{' '.join(str(value) for value in values)}\n"


def _render_line(arguments: Arguments) -> str:
    return f"{arguments[0]}\n"


def _render_two_lines(arguments: Arguments) -> str:
    return f"{arguments[0]}\n{arguments[1]}\n"


def _render_words(arguments: Arguments) -> str:
    return f"{' '.join(arguments[0])}\n"


def _render_lines(arguments: Arguments) -> str:
    (lines,) = arguments
    return "".join(f"{line}\n" for line in (len(lines), *lines))


def _render_pairs(arguments: Arguments) -> str:
    (pairs,) = arguments
    return f"{len(pairs)}\n" + "".join(f"{first} {second}\n" for first, second in pairs)


def _render_graph(arguments: Arguments) -> str:
    count, links = arguments
    lines = "".join(f"{first} {second}\n" for first, second in links)
    return f"{count} {len(links)}\n{lines}"


_NUMBERS_LAYOUT = (
    "The first line has the count of the numbers, the second the numbers, separated by spaces (an "
    "empty line if there are none)."
)
_PAIRS_LAYOUT = "The first line has the count of the pairs; then each has a line of two integers."


def _lines_layout(what: str) -> str:
    return f"The first line has the count of {what}; then each has a line."


INPUTS: dict[str, InputKind] = {
    "numbers": InputKind(
        parameters=(("values", "list[int]"),),
        meaning="`values` is a list of integers, which may be empty.",
        layout=_NUMBERS_LAYOUT,
        draw=_draw_numbers,
        render=_render_numbers,
        reader=read_numbers,
    ),
    "small_numbers": InputKind(
        parameters=(("values", "list[int]"),),
        meaning="`values` is a list of positive integers, which may be empty.",
        layout=_NUMBERS_LAYOUT,
        draw=_draw_small_numbers,
        render=_render_numbers,
        reader=read_numbers,
    ),
    "index": InputKind(
        parameters=(("index", "int"),),
        meaning="`index` is an integer from 0 to 40.",
        layout="The only line has the integer `index`, from 0 to 40.",
        draw=_draw_index,
        render=_render_line,
        reader=read_index,
    ),
    "text": InputKind(
        parameters=(("text", "str"),),
        meaning="`text` is a string of one line, which may be empty.",
        layout="The only line is the text. It may be empty, and spaces at its ends belong to it.",
        draw=_draw_text,
        render=_render_line,
        reader=read_text,
    ),
    "words": InputKind(
        parameters=(("words", "list[str]"),),
        meaning="`words` is a list of non-empty strings without spaces; the list may be empty.",
        layout="The only line has the words, separated by spaces; it is empty if there are none.",
        draw=_draw_words,
        render=_render_words,
        reader=read_words,
    ),
    "intervals": InputKind(
        parameters=(("intervals", "list[tuple[int, int]]"),),
        meaning="`intervals` is a list of pairs of integers, in any order; it may be empty.",
        layout=_PAIRS_LAYOUT,
        draw=_draw_intervals,
        render=_render_pairs,
        reader=read_pairs,
    ),
    "jobs": InputKind(
        parameters=(("jobs", "list[tuple[int, int]]"),),
        meaning="`jobs` is a list of pairs of integers; it may be empty.",
        layout=_PAIRS_LAYOUT,
        draw=_draw_jobs,
        render=_render_pairs,
        reader=read_pairs,
    ),
    "ledger": InputKind(
        parameters=(("commands", "list[str]"),),
        meaning="`commands` is a list of commands, which may be empty. Names are lower-case "
        "letters, amounts are positive integers, and the two names of a command differ.",
        layout=_lines_layout("the commands"),
        draw=_draw_ledger,
        render=_render_lines,
        reader=read_lines,
    ),
    "machine": InputKind(
        parameters=(("words", "list[str]"),),
        meaning="`words` is a list of strings, each an integer or one of add, sub, mul, dup, swap, "
        "top; the list may be empty.",
        layout="The only line has the words, separated by spaces; it is empty if there are none.",
        draw=_draw_machine,
        render=_render_words,
        reader=read_words,
    ),
    "moves": InputKind(
        parameters=(("moves", "str"),),
        meaning="`moves` is a string, which may be empty.",
        layout="The only line is the text; it may be empty.",
        draw=_draw_moves,
        render=_render_line,
        reader=read_text,
    ),
    "cells": InputKind(
        parameters=(("cells", "str"),),
        meaning="`cells` is a string of `#` and `.`, which may be empty.",
        layout="The only line is the text; it may be empty.",
        draw=_draw_cells,
        render=_render_line,
        reader=read_text,
    ),
    "grid": InputKind(
        parameters=(("grid", "list[str]"),),
        meaning="`grid` is a list of strings of `.`, `~` and `#`.",
        layout=_lines_layout("the rows"),
        draw=_draw_grid,
        render=_render_lines,
        reader=read_lines,
    ),
    "graph": InputKind(
        parameters=(("count", "int"), ("links", "list[tuple[int, int]]")),
        meaning="`count` is a positive integer and `links` a list of pairs, which may be empty.",
        layout="The first line has `count` and the count of the pairs; then each pair has a line "
        "of two integers.",
        draw=_draw_graph,
        render=_render_graph,
        reader=read_graph,
    ),
    "expression": InputKind(
        parameters=(("expression", "str"),),
        meaning="`expression` is a string.",
        layout="The only line is the expression.",
        draw=_draw_expression,
        render=_render_line,
        reader=read_text,
    ),
    "two_texts": InputKind(
        parameters=(("first", "str"), ("second", "str")),
        meaning="`first` and `second` are strings of letters, which may be empty.",
        layout="The first line is the first text, the second line the second one; both may be "
        "empty.",
        draw=_draw_two_texts,
        render=_render_two_lines,
        reader=read_two_texts,
    ),
}

OUTPUTS: dict[str, OutputKind] = {
    "number": OutputKind(annotation="int", layout="Print the number.", writer=write_number),
    "numbers": OutputKind(
        annotation="list[int]",
        layout="Print the numbers on one line, separated by spaces, or EMPTY if there are none.",
        writer=write_numbers,
    ),
    "text": OutputKind(
        annotation="str",
        layout="Print the text between square brackets: [ and ].",
        writer=write_text,
    ),
    "words": OutputKind(
        annotation="list[str]",
        layout="Print each word on a line of its own, or EMPTY if there are none.",
        writer=write_words,
    ),
    "table": OutputKind(
        annotation="dict",
        layout="Print each entry on a line of its own, the key, a space and the value, ordered by "
        "key from small to large (strings in Python's order), or EMPTY if there are none.",
        writer=write_table,
    ),
}
