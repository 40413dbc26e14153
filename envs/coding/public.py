"""Public sets of coding tasks, read from the folders that `execgym data` has filled.

Nothing of a set is executed in the host process: its sources are parsed at most, and run in
sandboxes.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import gzip
import json
import pathlib
import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from execgym.envs.coding.defective import DEFECTIVE_TASKS
from execgym.envs.coding.hidden import CheckedTests, CodingSource, FurtherInputs, HiddenTests
from execgym.envs.datasets import DatasetError, dataset_directory
from execgym.envs.errors import UnknownTaskError
from execgym.envs.task import Task
from execgym.judging.functions import CheckingCode

_MALFORMED = (
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
    zlib.error,
)
_LEVEL_NODES = (45, 80, 130, 200)
_RANGES_OF_MBPP = (("prompt", 1, 10), ("test", 11, 510), ("validation", 511, 600))

CHECK_ONLY = frozenset({"humaneval_plus/32", "mbpp_plus/599"})
"""Tasks that only their own check judges: 32 has several right answers, so further inputs have no
one expected value; the further inputs of 599 take the reference tens of seconds."""

ANY_ORDER = frozenset(f"mbpp_plus/{number}" for number in (2, 7, 111, 140, 232, 249, 579, 769))
"""Tasks that ask for a collection without saying in which order; EvalPlus compares them as sets,
which lets repeats through, and they are compared as bags here."""

SLOW_TASKS = {"mbpp/123": 90.0, "mbpp_plus/123": 90.0}
"""CPU seconds for tasks whose own reference takes more than a second; the ones here take 11."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PublicTask:
    """One task of a set.

    Attributes:
        prompt: What the model is asked.
        split: As the set has it.
        reference: A solution that passes.
        code: Its checking code.
        further: Its further inputs, if the set has some.
    """

    prompt: str
    split: str
    reference: str
    code: CheckingCode
    further: FurtherInputs | None = None


class PublicSource:
    """The tasks of a public set that its own reference solves; see `DEFECTIVE_TASKS`.

    Args:
        name: Name of the source, and the first part of its ids, which are `NAME/NUMBER`.
        tasks: All tasks of the set by number.
    """

    def __init__(self, name: str, tasks: Mapping[int, PublicTask]) -> None:
        self._name = name
        self._defective = DEFECTIVE_TASKS.get(name, {})
        self._tasks = {
            f"{name}/{number}": task
            for number, task in sorted(tasks.items())
            if number not in self._defective
        }
        self._levels = {key: _level(task.reference) for key, task in self._tasks.items()}
        order = ("train", "test", "validation", "prompt")
        found = {task.split for task in self._tasks.values()}
        self._splits = tuple(split for split in order if split in found)

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of the set."""
        return self._splits

    def levels(self, split: str) -> tuple[int, ...]:
        """Return the levels that occur: they go by the size of the reference."""
        return tuple(sorted({self._levels[key] for key in self.ids(split)}))

    def ids(self, split: str, level: int | None = None) -> Sequence[str]:
        """Return the ids of a split and level, in the order of the set."""
        return [
            key
            for key, task in self._tasks.items()
            if task.split == split and level in (None, self._levels[key])
        ]

    def sample(self, generator: np.random.Generator, split: str, level: int | None = None) -> str:
        """Draw an id, levels evenly where `level` is None."""
        if level is None:
            levels = self.levels(split)
            level = levels[int(generator.integers(0, len(levels)))]
        choices = self.ids(split, level)
        return choices[int(generator.integers(0, len(choices)))]

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: No task has this id, or it is a defective one.
        """
        task = self._get(task_id)
        return Task(
            id=task_id,
            domain="coding",
            prompt=task.prompt,
            level=self._levels[task_id],
            split=task.split,
            metadata={"kind": "function"},
        )

    def hidden(self, task_id: str, chance: random.Random) -> HiddenTests:
        """Return the hidden tests of a task, which are the set's.

        Raises:
            UnknownTaskError: No task has this id.
        """
        task = self._get(task_id)
        return CheckedTests(
            code=task.code,
            further=task.further,
            cpu_seconds=SLOW_TASKS.get(task_id, 0.0),
        )

    def reference(self, task_id: str) -> str:
        """Return the set's own solution.

        Raises:
            UnknownTaskError: No task has this id.
        """
        return self._get(task_id).reference

    def _get(self, task_id: str) -> PublicTask:
        task = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if task is not None:
            return task
        name, _, number = str(task_id).partition("/")
        if name == self._name and number.isdecimal() and int(number) in self._defective:
            why = self._defective[int(number)]
            raise UnknownTaskError(f"task {task_id!r} is left out as defective: {why}")
        example = next(iter(self._tasks), f"{self._name}/1")
        raise UnknownTaskError(
            f"no task of {self._name} has the id {task_id!r}; ids look like {example!r}"
        )


def _humaneval() -> CodingSource:
    return _load_humaneval(dataset_directory("humaneval"), None)


def _humaneval_plus() -> CodingSource:
    return _load_humaneval(
        dataset_directory("humaneval"), dataset_directory("humaneval_plus_early")
    )


def _mbpp() -> CodingSource:
    return _load_mbpp(dataset_directory("mbpp"))


def _mbpp_plus() -> CodingSource:
    return _load_mbpp_plus(dataset_directory("mbpp_plus"))


PUBLIC_SETS: dict[str, Callable[[], CodingSource]] = {
    "humaneval": _humaneval,
    "humaneval_plus": _humaneval_plus,
    "mbpp": _mbpp,
    "mbpp_plus": _mbpp_plus,
}
"""What loads a set, by the name of the task source."""


@functools.lru_cache(maxsize=8)
def _load_humaneval(folder: pathlib.Path, plus: pathlib.Path | None) -> CodingSource:
    name = "humaneval" if plus is None else "humaneval_plus"
    contracts: list[Mapping[str, Any]] = []
    inputs: dict[int, list[Any]] = {}
    if plus is not None:
        with _reading(plus):
            contracts = list(_records(plus / "HumanEvalPlus.jsonl"))
            for record in _records(plus / "HumanEvalPlusInputs.jsonl"):
                number = int(record["task_id"].removeprefix("HumanEval_"))
                inputs[number] = record["inputs"]
    tasks: dict[int, PublicTask] = {}
    with _reading(folder):
        for record in _records(folder / "HumanEval.jsonl.gz"):
            number = int(record["task_id"].removeprefix("HumanEval/"))
            prompt, entry = record["prompt"], record["entry_point"]
            further = None
            if contracts and f"{name}/{number}" not in CHECK_ONLY:
                extra = contracts[number]
                further = FurtherInputs(
                    function=entry,
                    references=(
                        prompt + record["canonical_solution"],
                        prompt + extra["reference"],
                    ),
                    contract=prompt + extra["contract"] + "\n",
                    inputs=_arguments([*extra["base_input"], *inputs.get(number, [])]),
                    tolerance=float(extra["atol"]),
                )
            tasks[number] = PublicTask(
                prompt=_complete_function(prompt),
                split="test",
                reference=prompt + record["canonical_solution"],
                code=CheckingCode(
                    # Some checks use helper functions that the prompt defines.
                    sources=(prompt, record["test"]),
                    proxies={"candidate": entry, entry: entry},
                    body="check(candidate)\n",
                ),
                further=further,
            )
    return PublicSource(name, tasks)


@functools.lru_cache(maxsize=8)
def _load_mbpp(folder: pathlib.Path) -> CodingSource:
    tasks: dict[int, PublicTask] = {}
    with _reading(folder):
        for record in _records(folder / "mbpp.jsonl"):
            number = int(record["task_id"])
            assertions = [*record["test_list"], *record["challenge_test_list"]]
            functions = _called_functions(record["code"], assertions)
            tasks[number] = PublicTask(
                prompt=_write_function(record["text"], functions, record["test_list"][0]),
                split=_split_of_mbpp(number),
                reference=record["code"],
                code=CheckingCode(
                    sources=("import math\nimport sys\n", record["test_setup_code"]),
                    proxies={function: function for function in functions},
                    body="\n".join(assertions) + "\n",
                ),
            )
    return PublicSource("mbpp", tasks)


@functools.lru_cache(maxsize=8)
def _load_mbpp_plus(folder: pathlib.Path) -> CodingSource:
    tasks: dict[int, PublicTask] = {}
    with _reading(folder):
        for record in _records(folder / "MbppPlus.jsonl"):
            number = int(record["task_id"].removeprefix("Mbpp/"))
            reference, entry = record["canonical_solution"], record["entry_point"]
            functions = [entry]
            more = record["plus_input"] if isinstance(record["plus_input"], list) else []
            if f"mbpp_plus/{number}" in CHECK_ONLY:
                more = []
            patterns = _argument_patterns(entry, record["assertion"])
            tasks[number] = PublicTask(
                prompt=_write_function(
                    record["prompt"].strip().strip("'\"").strip(),
                    functions,
                    _first_assertion(record["assertion"]),
                ),
                split=_split_of_mbpp(number),
                reference=reference,
                code=CheckingCode(
                    sources=("import math\nimport sys\n",),
                    proxies={function: function for function in functions},
                    body=record["assertion"] + "\n",
                ),
                further=FurtherInputs(
                    function=entry,
                    references=(reference,),
                    contract=_contract_of(reference, entry, record["contract"]),
                    inputs=_arguments(more, patterns),
                    tolerance=float(record["atol"]),
                    any_order=f"mbpp_plus/{number}" in ANY_ORDER,
                ),
            )
    return PublicSource("mbpp_plus", tasks)


def _records(path: pathlib.Path) -> Iterator[Mapping[str, Any]]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    for line in data.decode("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


class _reading:
    """Turn what a malformed file raises into an error that names the folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _MALFORMED):
            raise DatasetError(
                f"the task set in {self._folder} cannot be read ({type(error).__name__}: {error}); "
                "bring it again with `execgym data`"
            ) from error


def _split_of_mbpp(number: int) -> str:
    for split, first, last in _RANGES_OF_MBPP:
        if first <= number <= last:
            return split
    return "train"


def _parse(source: str) -> ast.Module:
    # Some sources have escapes that Python warns of; they are the sets' own.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _level(reference: str) -> int:
    nodes = sum(1 for _ in ast.walk(_parse(reference)))
    return 1 + sum(nodes > bound for bound in _LEVEL_NODES)


def _complete_function(prompt: str) -> str:
    return (
        "Complete this Python function. Hand in the whole code, with the imports that it needs.\n\n"
        f"{prompt.strip()}"
    )


def _write_function(text: str, functions: Sequence[str], example: str) -> str:
    names = " and ".join(f"`{name}`" for name in functions)
    text = re.sub(r"\s+", " ", text).strip()
    return f"{text}\n\nYour Python code must define {names}. This must hold:\n\n{example.strip()}"


def _called_functions(code: str, assertions: Sequence[str]) -> list[str]:
    """Return the names that the code defines and the assertions use."""
    defined = {
        node.name for node in _parse(code).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    used = {
        node.id for node in ast.walk(_parse("\n".join(assertions))) if isinstance(node, ast.Name)
    }
    return sorted(defined & used)


def _first_assertion(assertions: str) -> str:
    for node in _parse(assertions).body:
        if isinstance(node, ast.Assert):
            return ast.get_source_segment(assertions, node) or ast.unparse(node)
    raise ValueError("there is no assertion")


def _contract_of(reference: str, entry: str, contract: str) -> str:
    """Return a module in which the function asserts what its arguments must be."""
    if not contract.strip():
        return ""
    for node in _parse(reference).body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            return f"{reference}\n\ndef {entry}({ast.unparse(node.args)}):\n{contract}\n"
    return ""


def _argument_patterns(entry: str, assertion: str) -> list[Any]:
    """Return example arguments out of the assertions: JSON has made lists of all sequences."""
    for node in ast.walk(_parse(assertion)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == entry:
            try:
                return [ast.literal_eval(argument) for argument in node.args]
            except ValueError:
                continue
    return []


def _arguments(
    inputs: Sequence[Sequence[Any]], patterns: Sequence[Any] = ()
) -> tuple[tuple[Any, ...], ...]:
    found: dict[str, tuple[Any, ...]] = {}
    for one in inputs:
        shaped = tuple(
            _shaped(value, patterns[place]) if place < len(patterns) else value
            for place, value in enumerate(one)
        )
        found.setdefault(repr(shaped), shaped)
    return tuple(found.values())


def _shaped(value: Any, pattern: Any) -> Any:
    """Return the value with lists made tuples or sets where the example has some."""
    if not isinstance(value, list) or not isinstance(pattern, list | tuple | set):
        return value
    samples = list(pattern)
    items = [
        _shaped(item, samples[min(place, len(samples) - 1)]) if samples else item
        for place, item in enumerate(value)
    ]
    try:
        return type(pattern)(items)
    except TypeError:
        return value
