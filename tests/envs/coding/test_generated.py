"""Generated tasks: pure functions of the id, disjoint splits, sound references, no weak tests."""

import ast
import contextlib
import copy
import io
import os
import random
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from execgym.envs.coding.algorithms import ALGORITHMS
from execgym.envs.coding.generated import (
    LEVELS,
    SPLITS,
    GeneratedSource,
    blueprint,
    reference_source,
    split_of,
)
from execgym.envs.coding.hidden import FunctionTests
from execgym.envs.coding.inputs import INPUTS, OUTPUTS
from execgym.envs.coding.operations import OPERATIONS
from execgym.envs.errors import UnknownTaskError
from execgym.judging.submission_chance import submission_chance

SOURCE = GeneratedSource()
ALL_OPERATIONS = {**OPERATIONS, **ALGORITHMS[3], **ALGORITHMS[4], **ALGORITHMS[5]}


def ids(count, levels=LEVELS, splits=SPLITS):
    return [f"generated/{s}/{n}/{seed}" for s in splits for n in levels for seed in range(count)]


def answer(plan, source, case):
    """Run our own reference text, never anything else, on one hidden case."""
    namespace = {"__name__": "__main__"}
    if plan.kind == "function":
        exec(source, namespace)
        try:
            return repr(namespace[plan.name](*copy.deepcopy(case.call.arguments)))
        except ValueError:
            return "ValueError"
    output = io.StringIO()
    lines = io.StringIO(case.stdin)
    namespace["input"] = lambda: lines.readline().removesuffix("\n")
    with contextlib.redirect_stdout(output):
        exec(source, namespace)
    return output.getvalue().rstrip("\n")


def wanted(case):
    if hasattr(case, "call"):
        return case.raises or repr(case.expected)
    return case.expected.rstrip("\n")


def test_a_task_is_the_same_in_every_process_and_under_every_hash_seed():
    code = (
        "import hashlib; from execgym.envs.coding.generated import *; s = GeneratedSource();"
        "ids = [f'generated/{p}/{n}/{k}' for p in SPLITS for n in LEVELS for k in range(5)];"
        "print(hashlib.sha256(repr([s.task(i) for i in ids]).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(digests) == 1


def test_no_shape_is_in_both_splits():
    shapes = {split: {blueprint(one).shape for one in ids(60, splits=(split,))} for split in SPLITS}
    assert not shapes["train"] & shapes["test"]
    for split in SPLITS:
        assert {split_of(shape) for shape in shapes[split]} == {split}


def test_a_shape_does_not_depend_on_constants_names_or_kind():
    plan = blueprint("generated/train/2/0")
    other = copy.deepcopy(plan)
    object.__setattr__(other, "name", "other")
    object.__setattr__(other, "kind", "program")
    redrawn = tuple((op, {**given, **op.draw(random.Random(5))}) for op, given in plan.steps)
    if not any(op.structure for op, _ in plan.steps):
        object.__setattr__(other, "steps", redrawn)
    assert other.shape == plan.shape


@pytest.mark.parametrize("level", LEVELS)
def test_every_reference_solves_its_hidden_cases(level):
    for task_id in ids(15, levels=(level,)):
        plan = blueprint(task_id)
        source = SOURCE.reference(task_id)
        for case in SOURCE.hidden(task_id, random.Random(1)).cases:
            assert answer(plan, source, case) == wanted(case), task_id


@pytest.mark.parametrize("level", LEVELS)
def test_no_constant_and_no_argument_is_an_answer(level):
    for task_id in ids(15, levels=(level,)):
        cases = SOURCE.hidden(task_id, random.Random(1)).cases
        results = Counter(map(wanted, cases))
        assert max(results.values()) < len(cases) * 0.75, task_id
        for place in range(len(INPUTS[blueprint(task_id).input].parameters)):
            if isinstance(SOURCE.hidden(task_id, random.Random(1)), FunctionTests):
                same = [repr(case.call.arguments[place]) == wanted(case) for case in cases]
                assert not all(same), task_id


def test_the_smallest_input_is_always_among_the_hidden_ones():
    for task_id in ids(10):
        plan = blueprint(task_id)
        smallest = INPUTS[plan.input].draw(random.Random(0), 0.0)
        if plan.kind == "function" and isinstance(smallest[0], list | str) and not smallest[0]:
            calls = [case.call.arguments for case in SOURCE.hidden(task_id, random.Random(1)).cases]
            assert any(not arguments[0] for arguments in calls), task_id


def test_hidden_inputs_are_partly_fresh_for_each_submission_and_the_same_again_for_an_equal_one():
    plan_id = "generated/train/1/0"
    first, second, again = (
        {
            repr(case)
            for case in SOURCE.hidden(
                plan_id, submission_chance(plan_id, {"solution.py": text})
            ).cases
        }
        for text in (b"a", b"b", b"a")
    )
    assert first & second
    assert first != second
    assert first == again


def test_a_prompt_shows_no_hidden_case_of_some_size():
    for task_id in ids(20, levels=(2, 4)):
        prompt = SOURCE.task(task_id).prompt
        for case in SOURCE.hidden(task_id, random.Random(1)).cases:
            shown = repr(case.call.arguments)[1:-1] if hasattr(case, "call") else case.stdin
            assert len(shown) < 25 or shown not in prompt, task_id


def test_a_prompt_holds_nothing_of_the_reference():
    for task_id in ids(10):
        prompt = SOURCE.task(task_id).prompt
        assert "result = " not in prompt
        assert not any(f"{name}(" in prompt for name in ALL_OPERATIONS)


def test_both_kinds_occur_at_every_level():
    for level in LEVELS:
        kinds = {SOURCE.task(one).metadata["kind"] for one in ids(40, levels=(level,))}
        assert kinds == {"function", "program"}


@pytest.mark.parametrize("name", sorted(ALL_OPERATIONS))
def test_every_operation_describes_itself_and_gives_its_kind(name):
    operation = ALL_OPERATIONS[name]
    generator = random.Random(name)
    kinds = {"number": int, "numbers": list, "text": str, "words": list, "table": dict}
    for attempt in range(60):
        parameters = operation.draw(generator)
        sentence = operation.describe(parameters)
        assert "{" not in sentence
        assert sentence.endswith((".", ")"))
        if operation.takes in INPUTS:
            given = INPUTS[operation.takes].draw(generator, attempt % 6 / 5)
            before = copy.deepcopy(given)
            result = operation.function(*given, **parameters)
            assert given == before, "an operation must not change its arguments"
            assert type(result) is kinds[operation.gives]
            OUTPUTS[operation.gives].writer(result)


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_a_program_reads_back_what_was_written_for_it(name, monkeypatch):
    kind = INPUTS[name]
    generator = random.Random(name)
    for attempt in range(30):
        arguments = kind.draw(generator, attempt % 6 / 5)
        monkeypatch.setattr("sys.stdin", io.StringIO(kind.render(arguments)))
        assert kind.reader() == arguments


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "generated",
        "generated/train/6/1",
        "generated/train/0/1",
        "generated/dev/1/1",
        "generated/train/1/01",
        "generated/train/1/-1",
        "generated/train/1/4294967296",
        "generated/train/1/1\n",
        "generated/train/1/٣",
        7,
        None,
    ],
)
def test_an_unknown_id_is_refused_with_an_example(task_id):
    with pytest.raises(UnknownTaskError, match="generated/train/2/1234"):
        SOURCE.task(task_id)


def test_sampling_goes_over_all_levels_and_gives_ids_that_exist():
    generator = np.random.default_rng(3)
    sampled = [SOURCE.sample(generator, "test") for _ in range(40)]
    assert {SOURCE.task(one).level for one in sampled} == set(LEVELS)
    assert {SOURCE.task(one).split for one in sampled} == {"test"}
    assert SOURCE.ids("train") is None


# ---- mutants of the references ------------------------------------------------------------------


COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv}


class Mutator(ast.NodeTransformer):
    """Change the n-th mutable node that stands on one of the given lines."""

    def __init__(self, number, lines):
        self.left = number
        self.lines = lines
        self.done = ""

    def _turn(self, node, possible):
        if not possible or node.lineno not in self.lines or self.done:
            return False
        self.left -= 1
        return self.left < 0

    def visit_Compare(self, node):
        self.generic_visit(node)
        kind = type(node.ops[0])
        if self._turn(node, kind in COMPARISONS):
            node.ops[0] = COMPARISONS[kind]()
            self.done = ast.unparse(node)
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if self._turn(node, type(node.op) in OPERATORS):
            node.op = OPERATORS[type(node.op)]()
            self.done = ast.unparse(node)
        return node

    def visit_Constant(self, node):
        if self._turn(node, type(node.value) is int):
            self.done = f"{node.value} + 1"
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node


class TooLong(BaseException):
    pass


def too_long(*_):
    raise TooLong


def executed_lines(plan, source, cases):
    lines = set()

    def trace(frame, event, _):
        if frame.f_code.co_filename == "<string>":
            lines.add(frame.f_lineno)
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for case in cases:
            answer(plan, source, case)
    finally:
        sys.settrace(before)
    return lines


def is_killed(plan, source, cases):
    for case in cases:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            if answer(plan, source, case) != wanted(case):
                return True
        except (Exception, TooLong):
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return False


def test_hidden_cases_kill_nearly_all_mutants_of_the_references():
    previous = signal.signal(signal.SIGALRM, too_long)
    killed = []
    survivors = []
    try:
        for task_id in ids(6, splits=("train",)):
            plan = blueprint(task_id)
            source = reference_source(plan)
            cases = SOURCE.hidden(task_id, random.Random(1)).cases
            lines = executed_lines(plan, source, cases)
            number = 0
            while True:
                mutator = Mutator(number, lines)
                mutant = ast.unparse(mutator.visit(ast.parse(source)))
                if not mutator.done:
                    break
                number += 1
                if is_killed(plan, mutant, cases):
                    killed.append(task_id)
                else:
                    survivors.append((task_id, plan.shape, mutator.done))
    finally:
        signal.signal(signal.SIGALRM, previous)
    # Looked through by hand, what is left is nearly all of one kind: constants in look-up tables
    # for variants that the task does not have, and changes that mean the same.
    assert len(killed) > 300
    assert len(survivors) <= 0.2 * (len(killed) + len(survivors)), survivors
