"""Grading: what a candidate causes is a FAIL, what it cannot cause is no verdict about it."""

import asyncio

import pytest

from execgym.envs.coding.hidden import CheckedTests, FunctionTests, FurtherInputs
from execgym.envs.coding.judge import CodingJudge
from execgym.envs.task import Task
from execgym.judging import candidate, functions
from execgym.judging.candidate import Call
from execgym.judging.functions import CheckingCode, CheckingCodeError, FunctionCase
from execgym.judging.grading import grade_with_retry
from execgym.judging.verdict import Status
from execgym.sandbox import ProtocolViolationError, SandboxDiedError, SandboxStartError

TASK = Task(id="own/1", domain="coding", prompt="", level=1, split="train")
RIGHT = {"solution.py": b"def solve(n):\n    return n + 1\n"}
CASES = FunctionTests(
    cases=tuple(
        FunctionCase(call=Call(name="solve", arguments=(n,)), expected=n + 1) for n in range(8)
    )
)
CODE = CheckingCode(sources=(), proxies={"solve": "solve"}, body="assert solve(1) == 2\n")


class OwnSource:
    def __init__(self, tests):
        self.tests = tests

    def hidden(self, task_id, chance):
        return self.tests


def grade(tests, artifacts=RIGHT):
    return asyncio.run(CodingJudge(OwnSource(tests)).grade(TASK, artifacts))


def grade_as_an_env_does(tests, artifacts=RIGHT):
    judge = CodingJudge(OwnSource(tests))
    return asyncio.run(grade_with_retry(lambda: judge.grade(TASK, artifacts), judge_version="t"))


@pytest.mark.parametrize("tests", [CASES, CheckedTests(code=CODE)])
def test_a_right_answer_is_worth_one_and_says_what_was_looked_at(tests):
    verdict = grade(tests)
    assert (verdict.status, verdict.score) == (Status.PASS, 1.0)
    assert [check.passed for check in verdict.checks] == [True]
    assert verdict.judge_version == "coding-1"


def test_broken_checking_code_is_no_failure_of_the_candidate():
    for body in ("assert False", "pass", "solve(", "import os; os._exit(0)"):
        code = CheckingCode(sources=(), proxies={"solve": "solve"}, body=body)
        verdict = grade_as_an_env_does(CheckedTests(code=code))
        assert verdict.status is Status.JUDGE_ERROR
        assert verdict.score == 0.0


def test_a_broken_reference_is_no_failure_of_the_candidate():
    further = FurtherInputs(
        function="solve", references=("syntax error",), contract="", inputs=((1,),), tolerance=0.0
    )
    with pytest.raises(CheckingCodeError, match="reference"):
        grade(CheckedTests(code=CODE, further=further))


@pytest.mark.parametrize("error", [SandboxStartError, SandboxDiedError])
@pytest.mark.parametrize("tests", [CASES, CheckedTests(code=CODE)])
def test_a_sandbox_that_fails_is_no_failure_of_the_candidate(tests, error, monkeypatch):
    async def fail(spec):
        raise error("no room")

    monkeypatch.setattr(candidate, "open_sandbox", fail)
    with pytest.raises(error):
        grade(tests)
    assert grade_as_an_env_does(tests).status is Status.JUDGE_ERROR


def test_a_failing_sandbox_of_the_judge_leaves_none_of_the_candidate(monkeypatch):
    opened = []
    real = candidate.open_sandbox

    async def remember(spec):
        opened.append(await real(spec))
        return opened[-1]

    async def fail(spec):
        raise SandboxStartError("no room")

    monkeypatch.setattr(candidate, "open_sandbox", remember)
    monkeypatch.setattr(functions, "open_sandbox", fail)

    async def run():
        with pytest.raises(SandboxStartError):
            await CodingJudge(OwnSource(CheckedTests(code=CODE))).grade(TASK, RIGHT)
        with pytest.raises(SandboxDiedError):
            await opened[0].stats()

    asyncio.run(run())


def test_a_violation_of_the_protocol_is_the_candidates_doing(monkeypatch):
    async def violate(self):
        raise ProtocolViolationError("a frame of kind 99")

    real = candidate.open_sandbox

    async def opened(spec):
        sandbox = await real(spec)
        start = sandbox.start_python

        async def start_python(code):
            process = await start(code)
            monkeypatch.setattr(type(process), "receive", violate)
            return process

        monkeypatch.setattr(sandbox, "start_python", start_python)
        return sandbox

    monkeypatch.setattr(candidate, "open_sandbox", opened)
    assert grade(CASES).status is Status.FAIL


def test_the_values_of_a_reference_are_computed_once(monkeypatch):
    further = FurtherInputs(
        function="solve",
        references=("def solve(n):\n    return n + 1\n", "def solve(n):\n    return n - -1\n"),
        contract="def solve(n):\n    assert n >= 0\n",
        inputs=((1,), (2,), (-5,), ("x",)),
        tolerance=0.0,
    )
    judge = CodingJudge(OwnSource(CheckedTests(code=CODE, further=further)))
    opened = []
    real = candidate.open_sandbox

    async def count(spec):
        opened.append(spec)
        return await real(spec)

    monkeypatch.setattr(candidate, "open_sandbox", count)

    async def run():
        first = await judge.expected_cases(TASK.id, further)
        assert await judge.expected_cases(TASK.id, further) is first
        return first

    assert [case.call.arguments for case in asyncio.run(run())] == [(1,), (2,)]
    assert len(opened) == 3


def test_inputs_on_which_references_differ_are_left_out():
    further = FurtherInputs(
        function="solve",
        references=("def solve(n):\n    return n + 1\n", "def solve(n):\n    return min(n + 1, 3)"),
        contract="",
        inputs=((1,), (2,), (7,)),
        tolerance=0.0,
    )
    judge = CodingJudge(OwnSource(CheckedTests(code=CODE, further=further)))
    found = asyncio.run(judge.expected_cases(TASK.id, further))
    assert [case.expected for case in found] == [2, 3]


@pytest.mark.parametrize(
    "source",
    [
        "import os\ndef solve(n):\n    while True: os.fork()\n",
        "def solve(n):\n    return [0] * 10**12\n",
        "def solve(n):\n    x = []\n    while True: x.append(bytearray(1 << 24))\n",
        "import os\nwhile True: open(str(len(os.listdir())), 'wb').write(b'x' * (1 << 22))\n",
        "import threading\ndef solve(n):\n    while True: threading.Thread(target=input).start()\n",
        "x = '(' * 100_000 + ')' * 100_000\neval(x)\n",
    ],
    ids=["forks", "allocation", "memory", "files", "threads", "parser"],
)
def test_using_up_a_resource_is_a_failure(source):
    assert grade(CASES, {"solution.py": source.encode()}).status is Status.FAIL


def test_a_very_long_source_is_a_failure_that_says_the_limit():
    verdict = grade(CASES, {"solution.py": b"#" * 300_000})
    assert "200000" in verdict.reason


def test_an_answer_that_needs_another_order_is_a_bag():
    further = FurtherInputs(
        function="solve",
        references=("def solve(n):\n    return [n, n, 2]\n",),
        contract="",
        inputs=((1,), (5,)),
        tolerance=0.0,
        any_order=True,
    )
    code = CheckingCode(sources=(), proxies={"solve": "solve"}, body="assert solve(1)\n")
    tests = CheckedTests(code=code, further=further)
    for answer, status in (
        ("[2, n, n]", Status.PASS),
        ("(n, 2, n)", Status.PASS),
        ("[n, 2]", Status.FAIL),
        ("{n, 2}", Status.FAIL),
        ("'n2n'", Status.FAIL),
    ):
        source = f"def solve(n):\n    return {answer}\n".encode()
        assert grade(tests, {"solution.py": source}).status is status, answer
