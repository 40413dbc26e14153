"""Generated tasks: endless, seeded, of levels 1 to 5, as functions and as programs.

A task is a chain of steps (`execgym.envs.coding.operations`), at levels 3 to 5 mostly after a
larger algorithm (`execgym.envs.coding.algorithms`). Its prompt and its reference solution are both
made of the chain. Chains are told apart by their *shape*: the names of the steps and their
structural parameters, in order. A digest of the shape says to which split it belongs, so no shape
of `test` is ever met in `train`, whatever the seeds.

A drawn chain is thrown away where a weak answer could pass: where the hidden inputs give too few
different results, where the input itself is the answer, or where some step could be left out.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import itertools
import random
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from execgym.envs.coding.algorithms import ALGORITHMS
from execgym.envs.coding.hidden import FunctionTests, HiddenTests, ProgramTests
from execgym.envs.coding.inputs import INPUTS, OUTPUTS, Arguments, InputKind
from execgym.envs.coding.operation import Operation
from execgym.envs.coding.operations import OPERATIONS
from execgym.envs.errors import UnknownTaskError
from execgym.envs.task import Task
from execgym.judging.candidate import Call
from execgym.judging.functions import FunctionCase
from execgym.judging.programs import ProgramCase

SPLITS = ("train", "test")
LEVELS = (1, 2, 3, 4, 5)
SEEDS = 2**31

_TEST_SHARE = 0.2
_SHOWN_EXAMPLES = 3
_FIXED_CASES = 18
_FRESH_CASES = {"function": 16, "program": 3}
_TELLING_CASES = {"function": 20, "program": 4}
_PROGRAM_CASES = 10
_POOL = 48
_REDRAWS = 3
_PROGRAM_SHARE = 0.25
_GUARDED_SHARE = 0.15
_LEAST_DIFFERENT = 4
_MOST_COMMON_SHARE = 0.5
_LARGEST_TEXT = 2000
_ID = re.compile(r"generated/(train|test)/([1-5])/(0|[1-9][0-9]{0,9})\Z")
_NAMES = ("solve", "transform", "compute", "process", "work_out", "evaluate")
_GUARDED = {"numbers": "values", "small_numbers": "values", "text": "text", "words": "words"}

Step = tuple[Operation, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """A generated task, prompt and reference in one.

    Attributes:
        kind: `"function"` or `"program"`.
        name: The function's name.
        input: Name of the input kind.
        steps: The chain. The first step takes the arguments, each other the result before it.
        guarded: Whether an empty input must raise ValueError.
    """

    kind: str
    name: str
    input: str
    steps: tuple[Step, ...]
    guarded: bool

    @property
    def shape(self) -> str:
        """What the algorithm is, apart from constants, names and wording."""
        return self.input + ":" + ">".join(op.shape(parameters) for op, parameters in self.steps)

    @property
    def gives(self) -> str:
        """Kind of the result."""
        return self.steps[-1][0].gives

    def evaluate(self, arguments: Arguments) -> Any:
        """Return what the reference gives.

        Raises:
            ValueError: The input is guarded and empty.
        """
        if self.guarded and not arguments[0]:
            raise ValueError("the input is empty")
        return _run(self.steps, arguments)


def split_of(shape: str) -> str:
    """Return the split to which a shape belongs."""
    digest = hashlib.blake2b(shape.encode(), digest_size=8).digest()
    return "test" if int.from_bytes(digest, "big") < _TEST_SHARE * 2**64 else "train"


class GeneratedSource:
    """The source of generated tasks. Ids are `generated/SPLIT/LEVEL/SEED`."""

    @property
    def splits(self) -> tuple[str, ...]:
        """`("train", "test")`."""
        return SPLITS

    def levels(self, split: str) -> tuple[int, ...]:
        """Return 1 to 5."""
        return LEVELS

    def ids(self, split: str, level: int | None = None) -> Sequence[str] | None:
        """Return None: they are endless."""
        return None

    def sample(self, generator: np.random.Generator, split: str, level: int | None = None) -> str:
        """Draw the id of a task, levels evenly where `level` is None."""
        if level is None:
            level = int(generator.integers(LEVELS[0], LEVELS[-1] + 1))
        return f"generated/{split}/{level}/{int(generator.integers(0, SEEDS))}"

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: No task has this id.
        """
        return _task(task_id)

    def hidden(self, task_id: str, chance: random.Random) -> HiddenTests:
        """Return the hidden tests: fixed ones, and fresh ones by chance.

        Raises:
            UnknownTaskError: No task has this id.
        """
        plan = blueprint(task_id)
        fresh = [_draw(plan, chance, chance.random()) for _ in range(_FRESH_CASES[plan.kind])]
        inputs = [*_hidden_inputs(task_id), *fresh]
        if plan.kind == "function":
            return FunctionTests(cases=tuple(_function_case(plan, one) for one in inputs))
        return ProgramTests(cases=tuple(_program_case(plan, one) for one in inputs))

    def reference(self, task_id: str) -> str:
        """Return a solution that passes.

        Raises:
            UnknownTaskError: No task has this id.
        """
        return reference_source(blueprint(task_id))


@functools.lru_cache(maxsize=4096)
def blueprint(task_id: str) -> Blueprint:
    """Return the task's blueprint, a pure function of the id.

    Raises:
        UnknownTaskError: No task has this id.
    """
    match = _ID.match(task_id) if isinstance(task_id, str) else None
    if match is None or int(match.group(3)) >= SEEDS:
        raise UnknownTaskError(
            f"no coding task has the id {task_id!r}; a generated one has the form "
            f"generated/SPLIT/LEVEL/SEED, for example 'generated/train/2/1234', with SPLIT train "
            f"or test, LEVEL 1 to 5 and SEED below {SEEDS}"
        )
    split, level = match.group(1), int(match.group(2))
    generator = random.Random(f"execgym coding {task_id}")  # noqa: S311 - a seed, not a secret
    while True:
        plan = _propose(generator, level)
        if split_of(plan.shape) == split and _is_sound(task_id, plan):
            return plan


def reference_source(plan: Blueprint) -> str:
    """Return the source of the reference solution of a blueprint."""
    functions: dict[str, str] = {}
    for operation, _ in plan.steps:
        functions.setdefault(operation.name, _source_of(operation.function))
    parameters = INPUTS[plan.input].parameters
    body = _chain_lines(plan, ", ".join(name for name, _ in parameters))
    if plan.kind == "function":
        lines = [f"def {plan.name}({', '.join(name for name, _ in parameters)}):"]
        if plan.guarded:
            lines += [f"    if not {parameters[0][0]}:", '        raise ValueError("empty")']
        lines += [f"    {line}" for line in body] + ["    return result"]
    else:
        reader, writer = INPUTS[plan.input].reader, OUTPUTS[plan.gives].writer
        functions[reader.__name__] = _source_of(reader)
        functions[writer.__name__] = _source_of(writer)
        lines = [f"{', '.join(name for name, _ in parameters)}, = {reader.__name__}()"]
        lines += [*body, f"print({writer.__name__}(result))"]
    parts = ["from typing import Any", *functions.values(), "\n".join(lines)]
    return "\n\n\n".join(parts) + "\n"


def draw_inputs(plan: Blueprint, generator: random.Random, count: int) -> list[Arguments]:
    """Draw inputs of all sizes, the empty one first."""
    sizes = [0.0, *(generator.random() for _ in range(count - 1))]
    return [_draw(plan, generator, size) for size in sizes]


@functools.lru_cache(maxsize=4096)
def _task(task_id: str) -> Task:
    plan = blueprint(task_id)
    _, split, level, _ = task_id.split("/")
    return Task(
        id=task_id,
        domain="coding",
        prompt=_prompt(plan, _shown_inputs(task_id, plan)),
        level=int(level),
        split=split,
        metadata={"kind": plan.kind},
    )


# ---- drawing -----------------------------------------------------------------------------------


def _propose(generator: random.Random, level: int) -> Blueprint:
    steps: list[Step] = []
    if level == 1:
        kind, length = _simple_input(generator), 1
    elif level == 2:
        kind, length = _simple_input(generator), generator.randint(2, 3)
    elif level == 3 and generator.random() < 0.4:
        kind, length = _simple_input(generator), 4
    else:
        algorithm = generator.choice(list(ALGORITHMS[level].values()))
        steps.append((algorithm, algorithm.draw(generator)))
        kind = algorithm.takes
        length = 1 + {3: generator.randint(0, 1), 4: 1, 5: generator.randint(1, 2)}[level]
    gives = steps[-1][0].gives if steps else kind
    while len(steps) < length:
        choices = [op for op in OPERATIONS.values() if op.takes == gives]
        operation = generator.choice(choices)
        steps.append((operation, operation.draw(generator)))
        gives = operation.gives
    is_program = generator.random() < _PROGRAM_SHARE
    guarded = kind in _GUARDED and generator.random() < _GUARDED_SHARE and not is_program
    return Blueprint(
        kind="program" if is_program else "function",
        name=generator.choice(_NAMES),
        input=kind,
        steps=tuple(steps),
        guarded=guarded,
    )


def _simple_input(generator: random.Random) -> str:
    return generator.choice(("numbers", "numbers", "text", "words"))


def _is_sound(task_id: str, plan: Blueprint) -> bool:
    inputs = _fixed_inputs(task_id, plan)
    if plan.kind == "program":
        inputs = inputs[:_PROGRAM_CASES]
    results = [_run(plan.steps, one) for one in inputs]
    texts = [repr(result) for result in results]
    if max(map(len, texts)) > _LARGEST_TEXT:
        return False
    counts = Counter(texts)
    if len(counts) < _LEAST_DIFFERENT:
        return False
    if counts.most_common(1)[0][1] > _MOST_COMMON_SHARE * len(texts):
        return False
    for argument in range(len(inputs[0])):
        if _agree(results, [one[argument] for one in inputs]):
            return False
    for left_out in range(1, len(plan.steps)):
        shorter = plan.steps[:left_out] + plan.steps[left_out + 1 :]
        if _fits(shorter) and _agree(results, [_run(shorter, one) for one in inputs]):
            return False
    if len(plan.steps) > 1 and plan.steps[1][0].takes == plan.input:
        return not _agree(results, [_run(plan.steps[1:], one) for one in inputs])
    return True


def _agree(results: list[Any], others: list[Any]) -> bool:
    """Return whether at most one input tells the two apart, which is too few."""
    different = [a != b for a, b in zip(results, others, strict=True)]
    return different.count(True) < 2


def _fits(steps: Sequence[Step]) -> bool:
    return all(before[0].gives == after[0].takes for before, after in itertools.pairwise(steps))


def _run(steps: Sequence[Step], arguments: Arguments) -> Any:
    first, parameters = steps[0]
    result = first.function(*arguments, **parameters)
    for operation, parameters in steps[1:]:
        result = operation.function(result, **parameters)
    return result


def _draw(plan: Blueprint, generator: random.Random, size: float) -> Arguments:
    return INPUTS[plan.input].draw(generator, size)


def _fixed_inputs(task_id: str, plan: Blueprint) -> list[Arguments]:
    # From the empty input to the largest: the edge cases come with every task.
    generator = random.Random(f"execgym coding hidden {task_id}")  # noqa: S311
    order = [0.0, 0.06, 0.15, 1.0, 0.5, 0.8, 0.3, 1.0, 0.65, 0.9]
    sizes = order + [generator.uniform(0.2, 1.0) for _ in range(_FIXED_CASES - len(order))]
    return [_draw(plan, generator, size) for size in sizes]


@functools.lru_cache(maxsize=1024)
def _hidden_inputs(task_id: str) -> tuple[Arguments, ...]:
    """Return the fixed inputs, and further ones that tell the task from its near misses."""
    plan = blueprint(task_id)
    fixed = _fixed_inputs(task_id, plan)
    if plan.kind == "program":
        fixed = fixed[:_PROGRAM_CASES]
    generator = random.Random(f"execgym coding telling {task_id}")  # noqa: S311
    pool = [_draw(plan, generator, generator.uniform(0.1, 1.0)) for _ in range(_POOL)]
    kills = _kills(plan, [*fixed, *pool], generator)
    killed = set().union(*kills[: len(fixed)])
    chosen: list[int] = []
    rest = list(range(len(fixed), len(kills)))
    while len(chosen) < _TELLING_CASES[plan.kind]:
        # Where nothing is left to tell apart, a near miss is better told apart twice.
        best = max(rest, key=lambda index: (len(kills[index] - killed), len(kills[index]), -index))
        rest.remove(best)
        chosen.append(best)
        killed |= kills[best]
    return (*fixed, *(pool[index - len(fixed)] for index in chosen))


def _kills(
    plan: Blueprint, inputs: Sequence[Arguments], generator: random.Random
) -> list[set[int]]:
    """Return, for each input, which of the near misses give another result on it."""
    results = [_run(plan.steps, one) for one in inputs]
    kills: list[set[int]] = [set() for _ in inputs]
    for number, steps in enumerate(_near_misses(plan, generator)):
        for index, one in enumerate(inputs):
            if _gives_another_result(steps, one, results[index]):
                kills[index].add(number)
    return kills


def _gives_another_result(steps: Sequence[Step], arguments: Arguments, result: Any) -> bool:
    try:
        return bool(_run(steps, arguments) != result)
    except Exception:
        # Parameters of two draws may not go together.
        return True


def _near_misses(plan: Blueprint, generator: random.Random) -> list[tuple[Step, ...]]:
    """Return chains in which one parameter has another value that it may have."""
    found: list[tuple[Step, ...]] = []
    for place, (operation, parameters) in enumerate(plan.steps):
        redraws = [operation.draw(generator) for _ in range(_REDRAWS)]
        for name, value in parameters.items():
            others = {repr(one[name]): one[name] for one in redraws if one[name] != value}
            for other in others.values():
                step = (operation, {**parameters, name: other})
                found.append((*plan.steps[:place], step, *plan.steps[place + 1 :]))
    return found


def _shown_inputs(task_id: str, plan: Blueprint) -> list[Arguments]:
    generator = random.Random(f"execgym coding shown {task_id}")  # noqa: S311
    shown: list[Arguments] = []
    hidden = _fixed_inputs(task_id, plan)
    for attempt in range(50):
        one = _draw(plan, generator, (0.35, 0.5, 0.65)[len(shown)])
        if one not in shown and (one not in hidden or attempt > 40):
            shown.append(one)
        if len(shown) == _SHOWN_EXAMPLES:
            break
    return shown


def _function_case(plan: Blueprint, arguments: Arguments) -> FunctionCase:
    call = Call(name=plan.name, arguments=arguments)
    try:
        return FunctionCase(call=call, expected=plan.evaluate(arguments))
    except ValueError:
        if not plan.guarded:
            raise
        return FunctionCase(call=call, raises="ValueError")


def _program_case(plan: Blueprint, arguments: Arguments) -> ProgramCase:
    expected = OUTPUTS[plan.gives].writer(plan.evaluate(arguments))
    return ProgramCase(stdin=INPUTS[plan.input].render(arguments), expected=expected)


# ---- words -------------------------------------------------------------------------------------


def _prompt(plan: Blueprint, shown: Sequence[Arguments]) -> str:
    kind = INPUTS[plan.input]
    function = plan.kind == "function"
    parts = [_function_task(plan, kind) if function else _program_task(kind)]
    sentences = [op.describe(parameters) for op, parameters in plan.steps]
    if len(sentences) == 1:
        parts.append(sentences[0])
    else:
        steps = "\n".join(f"{number}. {text}" for number, text in enumerate(sentences, 1))
        parts.append(f"Do this, each step with the result of the one before:\n{steps}")
    if plan.guarded:
        parts.append(f"If `{_GUARDED[plan.input]}` is empty, raise ValueError instead.")
    if function:
        parts.append("Return the result.")
        examples = "\n".join(
            f">>> {plan.name}({', '.join(map(repr, one))})\n{plan.evaluate(one)!r}" for one in shown
        )
    else:
        parts.append(OUTPUTS[plan.gives].layout)
        examples = "\n".join(
            f"Input:\n{kind.render(one)}Output:\n{_program_case(plan, one).expected}"
            for one in shown
        )
    parts.append(f"Examples:\n{examples}")
    return "\n\n".join(parts)


def _function_task(plan: Blueprint, kind: InputKind) -> str:
    parameters = ", ".join(f"{name}: {annotation}" for name, annotation in kind.parameters)
    result = OUTPUTS[plan.gives].annotation
    signature = f"{plan.name}({parameters}) -> {result}"
    return f"Write a Python function `{signature}`.\n{kind.meaning}"


def _program_task(kind: InputKind) -> str:
    return (
        "Write a Python program that reads standard input and prints to standard output.\n"
        f"{kind.layout}"
    )


@functools.cache
def _source_of(function: Callable[..., Any]) -> str:
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(lines[start:])


def _chain_lines(plan: Blueprint, arguments: str) -> list[str]:
    lines = []
    for number, (operation, parameters) in enumerate(plan.steps):
        given = arguments if number == 0 else "result"
        keywords = "".join(f", {name}={value!r}" for name, value in parameters.items())
        lines.append(f"result = {operation.name}({given}{keywords})")
    return lines
