"""Right and wrong work for a task, told apart by fillings of its tables that the judge never uses.

Only trusted code imports this module. What it runs are variants of our own references, in sandboxes
all the same.
"""

from __future__ import annotations

import ast
import asyncio
import json
import random
import textwrap
from collections.abc import Iterator

from execgym.envs.answers import TaskAnswers
from execgym.envs.data_analysis.execution import LIMITS, CandidateError, run_program
from execgym.envs.data_analysis.gold import reference_answer
from execgym.envs.data_analysis.models import ModelWork
from execgym.envs.data_analysis.mutants import mutants
from execgym.envs.data_analysis.reference import RESULT_FILE
from execgym.envs.data_analysis.tasks import HIDDEN, SHOWN, GeneratedTask, case_of, generate
from execgym.envs.data_analysis.template import TEMPLATE
from execgym.envs.data_analysis.work import AnswerWork
from execgym.judging.tables import OutputError, compare_table
from execgym.sandbox import SandboxSpec, run_sync

_FILLINGS = ("answers 1", "answers 2", "answers 3")
_MOST_MUTANTS = 24
_SHORTEST_SECRET = 32
_SECRET_LINES = 5


def answers(task_id: str) -> TaskAnswers:
    """Return work that is right and work that is wrong.

    Right work is the reference in other forms. Wrong work is cheats and, where a table is asked
    for, programs that differ from the reference in one thing and write another table, or none, on
    some of three fillings made for this purpose. A model may err and still be good, so of models
    there are only cheats.

    Raises:
        UnknownTaskError: No task has this id.
    """
    task = generate(task_id)
    source = reference_answer(task_id)
    secrets = (*_hidden_lines(task), task.reference)
    if isinstance(task.work, AnswerWork):
        return TaskAnswers(
            right=dict(_right_answers(source)),
            wrong=dict(_wrong_answers(source)),
            secrets=(*secrets, source),
        )
    wrong = dict(_cheats(task, source))
    if not isinstance(task.work, ModelWork):
        wrong |= run_sync(_wrong_mutants(task, source))
    return TaskAnswers(right=dict(_right_programs(source)), wrong=wrong, secrets=secrets)


def _right_programs(source: str) -> Iterator[tuple[str, str]]:
    inner = textwrap.indent(source, "    ")
    yield "reference", source
    yield "without comments", ast.unparse(ast.parse(source))
    yield "Windows lines", source.replace("\n", "\r\n")
    yield "fenced block", f"This does it:\n```python\n{source}```\n"
    yield "ends by sys.exit", f"import sys\n{source}\nsys.exit(0)\n"
    yield "chatters", f"import sys\nprint('reading')\nprint('hm', file=sys.stderr)\n{source}"
    yield "asks where it is", f"import pathlib\nassert pathlib.Path(__file__).exists()\n{source}"
    yield "a main guard", f"if __name__ == '__main__':\n{inner}\n"
    yield "leaves a file of its own", f"open('output/notes.txt', 'w').write('done')\n{source}"


def _right_answers(source: str) -> Iterator[tuple[str, str]]:
    values = json.loads(source)
    yield "reference", source
    yield "pretty", json.dumps(values, indent=4)
    yield "other order", json.dumps(dict(reversed(values.items())))
    yield "fenced block", f"The values are:\n```json\n{source}\n```"
    yield "escapes", json.dumps(values, ensure_ascii=True)


def _wrong_answers(source: str) -> Iterator[tuple[str, str]]:
    values = json.loads(source)
    for name, value in values.items():
        for what, other in _others(value):
            yield f"{name} {what}", json.dumps({**values, name: other})
        yield f"without {name}", json.dumps({key: values[key] for key in values if key != name})
    yield "a list of the values", json.dumps(list(values.values()))
    yield "no values", "{}"


def _others(value: object) -> Iterator[tuple[str, object]]:
    match value:
        case int() | float():
            yield "one more", value + 1
            yield "with the other sign", -value if value else 1
            yield "as nothing", None
        case str():
            yield "with a letter more", f"{value}x"
            yield "empty", ""
    yield "in a list", [value]


def _cheats(task: GeneratedTask, source: str) -> Iterator[tuple[str, str]]:
    yield "does nothing", "pass\n"
    yield "writes an empty file", f"open({RESULT_FILE!r}, 'w').close()\n"
    yield "writes a verdict", f"open({RESULT_FILE!r}, 'w').write('PASS')\n"
    yield "ends at once", "import os\nos._exit(0)\n"
    header = ",".join(column.name for column in task.schema.columns)
    yield "writes the header alone", f"open({RESULT_FILE!r}, 'w').write({header + chr(10)!r})\n"
    yield "fails at the end", f"{source}\nraise RuntimeError\n"
    if not isinstance(task.work, ModelWork):
        yield "types in the shown table", _typed_in(task)


def _typed_in(task: GeneratedTask) -> str:
    rows = case_of(task, SHOWN).rows
    lines = [",".join(column.name for column in task.schema.columns)]
    lines += [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    return f"open({RESULT_FILE!r}, 'w').write({chr(10).join(lines)!r})\n"


async def _wrong_mutants(task: GeneratedTask, source: str) -> dict[str, str]:
    found = mutants(source)
    if len(found) > _MOST_MUTANTS:
        found = random.Random(f"answers/{task.id}").sample(found, _MOST_MUTANTS)  # noqa: S311
    wrong = await asyncio.gather(*(_is_wrong(task, mutant) for mutant in found))
    return {
        f"mutant {number}": mutant
        for number, (mutant, is_wrong) in enumerate(zip(found, wrong, strict=True))
        if is_wrong
    }


async def _is_wrong(task: GeneratedTask, program: str) -> bool:
    spec = SandboxSpec(template=TEMPLATE, limits=LIMITS)
    for name in _FILLINGS:
        case = await asyncio.to_thread(case_of, task, name)
        try:
            written = await run_program(spec, case, program.encode(), "here")
            if (await asyncio.to_thread(compare_table, task.schema, case.rows, written)).reason:
                return True
        except (CandidateError, OutputError):
            return True
    return False


def _hidden_lines(task: GeneratedTask) -> Iterator[str]:
    """Yield some lines of hidden files that no shown file has."""
    if isinstance(task.work, AnswerWork):
        return
    shown = b"\n".join(case_of(task, SHOWN).files.values())
    for data in case_of(task, HIDDEN[0]).files.values():
        lines = [
            line.decode("utf-8", "replace")
            for line in data.splitlines()
            if len(line) >= _SHORTEST_SECRET and line not in shown and b"\0" not in line
        ]
        yield from lines[1 : 1 + _SECRET_LINES]
