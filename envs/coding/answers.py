"""Right and wrong solutions of a task, told apart by inputs that the judge has not drawn.

Only trusted code imports this module. What it runs are variants of our own references, in a sandbox
all the same.
"""

from __future__ import annotations

import ast
import json
import random
import textwrap
from collections.abc import Iterator

from execgym.envs.answers import TaskAnswers
from execgym.envs.coding.generated import Blueprint, GeneratedSource, blueprint, draw_inputs
from execgym.envs.coding.gold import reference_answer
from execgym.envs.coding.hidden import FunctionTests, ProgramTests
from execgym.envs.coding.inputs import INPUTS, OUTPUTS
from execgym.judging.mutation import python_mutants
from execgym.judging.submission_chance import submission_chance
from execgym.sandbox import Limits, SandboxSpec, open_sandbox, run_sync

_INPUTS = 160
_MOST_MUTANTS = 120
_LIMITS = Limits(cpu_seconds=120.0, wall_seconds=300.0, output_bytes=1024 * 1024)
_SHORTEST_SECRET = 32
_IMPORT = "from typing import Any"

_ORACLE = """
import ast, contextlib, io, json, math, os, resource

def same(left, right):
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-6)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right

def differs(program, one, expected):
    namespace = {"__name__": "__main__"}
    output = io.StringIO()
    try:
        if work["function"]:
            exec(program, namespace)
            return not same(namespace[work["function"]](*one), expected)
        lines = io.StringIO(one)
        namespace["input"] = lambda: lines.readline().removesuffix("\\n")
        with contextlib.redirect_stdout(output):
            exec(program, namespace)
        return output.getvalue().split() != expected.split()
    except ValueError:
        return expected is not ValueError
    except MemoryError:
        os._exit(2)
    except Exception:
        return True

with open("work.json") as file:
    work = json.load(file)
cases = [
    (ast.literal_eval(one), ValueError if expected is None else ast.literal_eval(expected))
    for one, expected in work["cases"]
]
found = []
for number, source in enumerate(work["sources"]):
    child = os.fork()
    if not child:
        # Whoever runs on or fills the memory is no use as a wrong answer: it would cost the judge
        # its whole time for each input.
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        resource.setrlimit(resource.RLIMIT_AS, (256 * 1024 * 1024,) * 2)
        program = compile(source, "<mutant>", "exec")
        os._exit(int(any(differs(program, one, expected) for one, expected in cases)))
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1:
        found.append(number)
print(json.dumps(found))
"""


def answers(task_id: str) -> TaskAnswers:
    """Return solutions that are right and solutions that are wrong.

    Right ones are the reference in other forms. Wrong ones are cheats and, of generated tasks,
    programs that differ from the reference in one thing and give another result on some of 160
    inputs drawn for this purpose.

    Raises:
        UnknownTaskError: No task has this id.
        TaskSetUnavailableError: The task is of a public set that is not on this machine.
    """
    source = reference_answer(task_id)
    if not task_id.startswith("generated/"):
        return TaskAnswers(
            right={"reference": source, "Windows lines": source.replace("\n", "\r\n")},
            wrong=dict(_cheats(None)),
            secrets=(source,),
        )
    plan = blueprint(task_id)
    wrong = dict(_cheats(plan)) | run_sync(_wrong_mutants(task_id, plan, source))
    return TaskAnswers(
        right=dict(_right(plan, source)), wrong=wrong, secrets=_secrets(task_id, plan, source)
    )


def _right(plan: Blueprint, source: str) -> Iterator[tuple[str, str]]:
    yield "reference", source
    yield "without comments", ast.unparse(ast.parse(source))
    yield "Windows lines", source.replace("\n", "\r\n")
    yield "fenced block", f"Here it is:\n```python\n{source}```\nThat is all."
    if plan.kind == "program":
        inner = textwrap.indent(source.replace(_IMPORT, ""), "    ")
        main = f"{_IMPORT}\n\n\ndef main():\n{inner}\n\n"
        yield "in a main function", f"{main}if __name__ == '__main__':\n    main()\n"
        yield "ends by sys.exit", f"import sys\n{source}\nsys.exit(0)\n"
        yield "ends by SystemExit", f"{source}\nraise SystemExit\n"
        yield "chatters on standard error", f"import sys\nprint('hello', file=sys.stderr)\n{source}"
        yield (
            "writes at the end",
            (
                f"import contextlib, io, sys\nheld = io.StringIO()\n"
                f"with contextlib.redirect_stdout(held):\n{textwrap.indent(source, '    ')}\n"
                "sys.stdout.write(held.getvalue())\n"
            ),
        )
        return
    name = plan.name
    yield "under another name first", f"{source}\n_inner = {name}\n{name} = lambda *a: _inner(*a)\n"
    yield "partial", f"import functools\n{source}\n{name} = functools.partial({name})\n"
    yield (
        "decorated",
        (
            "import functools\n\ndef traced(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n"
            f"        return f(*a, **k)\n    return inner\n\n{source}\n{name} = traced({name})\n"
        ),
    )
    yield (
        "bound method",
        (
            f"{source}\n_free = {name}\nclass Solution:\n    def {name}(self, *a):\n"
            f"        return _free(*a)\n{name} = Solution().{name}\n"
        ),
    )
    yield (
        "callable object",
        (
            f"{source}\n_free = {name}\nclass Solution:\n    def __call__(self, *a):\n"
            f"        return _free(*a)\n{name} = Solution()\n"
        ),
    )
    yield (
        "made by a factory",
        (f"def make():\n{textwrap.indent(source, '    ')}\n    return {name}\n\n{name} = make()\n"),
    )
    yield (
        "prints on the way",
        (
            f"print('loading')\n{source}\n_in = {name}\ndef {name}(*a):\n"
            "    print('called', a)\n    return _in(*a)\n"
        ),
    )
    yield "a main guard", f"{source}\nif __name__ == '__main__':\n    print('a trial')\n"


def _cheats(plan: Blueprint | None) -> Iterator[tuple[str, str]]:
    yield "nothing but a comment", "# I would sort the values first."
    yield "ends at once", "import os\nos._exit(0)\n"
    yield "ends by SystemExit", "raise SystemExit(0)\n"
    yield "prints a verdict", "print('PASS')\nprint({'status': 'pass', 'score': 1.0})\n"
    yield "prints the word of a test runner", "print('1 passed in 0.01s')\n"
    if plan is None:
        return
    if plan.kind == "program":
        yield "prints its input", "import sys\nprint(sys.stdin.read())\n"
        yield "prints zero", "print(0)\n"
        return
    for what, value in (
        ("None", "None"),
        ("zero", "0"),
        ("an empty list", "[]"),
        ("an empty text", "''"),
        ("its first argument", "a[0]"),
    ):
        yield f"returns {what}", f"def {plan.name}(*a):\n    return {value}\n"
    yield (
        "is equal to everything",
        (
            "class Same:\n    def __eq__(self, other):\n        return True\n"
            "    def __hash__(self):\n        return 0\n"
            f"def {plan.name}(*a):\n    return Same()\n"
        ),
    )
    yield "ends in the call", f"import os\ndef {plan.name}(*a):\n    os._exit(0)\n"


async def _wrong_mutants(task_id: str, plan: Blueprint, source: str) -> dict[str, str]:
    generator = random.Random(f"answers/{task_id}")  # noqa: S311
    # The judge lends a candidate the names of `typing`, so their import may be left out.
    found = [one for one in python_mutants(source) if _IMPORT in one]
    if len(found) > _MOST_MUTANTS:
        found = generator.sample(found, _MOST_MUTANTS)
    cases: list[tuple[str, str | None]] = []
    for one in draw_inputs(plan, generator, _INPUTS):
        try:
            result = plan.evaluate(one)
        except ValueError:
            cases.append((repr(one), None))
            continue
        if plan.kind == "function":
            cases.append((repr(one), repr(result)))
        else:
            text = OUTPUTS[plan.gives].writer(result)
            cases.append((repr(INPUTS[plan.input].render(one)), repr(text)))
    work = {
        "function": plan.name if plan.kind == "function" else "",
        "sources": found,
        "cases": cases,
    }
    async with await open_sandbox(SandboxSpec(limits=_LIMITS)) as sandbox:
        await sandbox.write_file("work.json", json.dumps(work).encode())
        result = (await sandbox.run_python(_ORACLE)).check()
    return {f"mutant {number}": found[number] for number in json.loads(result.stdout)}


def _secrets(task_id: str, plan: Blueprint, source: str) -> tuple[str, ...]:
    secrets = [source]
    prompt = GeneratedSource().task(task_id).prompt
    tests = GeneratedSource().hidden(task_id, submission_chance(task_id, {}))
    texts: list[str] = []
    if isinstance(tests, FunctionTests):
        texts = [
            repr(value) for case in tests.cases for value in (*case.call.arguments, case.expected)
        ]
    elif isinstance(tests, ProgramTests):
        texts = [case.stdin for case in tests.cases] + [case.expected for case in tests.cases]
    secrets += [text for text in texts if len(text) >= _SHORTEST_SECRET and text not in prompt]
    return tuple(secrets)
