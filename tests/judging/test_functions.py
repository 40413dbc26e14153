"""Functions are judged by data: no verdict, and no expected value, is where a candidate runs."""

import asyncio
import dataclasses
import datetime
import decimal
import random

import pytest

from execgym.judging.candidate import (
    Call,
    CandidateFailure,
    open_candidate,
    read_source,
    template,
)
from execgym.judging.functions import (
    CheckingCode,
    CheckingCodeError,
    FunctionCase,
    judge_cases,
    judge_check,
    open_both,
)
from execgym.sandbox import Limits, SandboxSpec

SPEC = SandboxSpec(template=template(), limits=Limits(cpu_seconds=5, wall_seconds=30))
NUMBERS = [[], [3, 1, 2], [5, 5], [9, -1], list(range(40, 0, -1)), [0]]
SORTING = [
    FunctionCase(call=Call(name="solve", arguments=(values,)), expected=sorted(values))
    for values in NUMBERS
]
CHECK = CheckingCode(
    sources=("HELPER = [3, 1, 2]\n",),
    proxies={"candidate": "solve", "solve": "solve"},
    body="assert candidate(HELPER) == [1, 2, 3]\n"
    "assert solve([]) == []\n"
    "assert solve([2, 2, 1])[0] == 1\n",
)


def cases(source, tests=SORTING, spec=SPEC, **options):
    async def run():
        async with await open_candidate(source, spec) as candidate:
            await judge_cases(candidate, tests, random.Random(0), **options)
            await candidate.finish()

    asyncio.run(run())


def check(source, code=CHECK, spec=SPEC):
    async def run():
        candidate, judge = await open_both(source, spec, SPEC)
        try:
            calls = await judge_check(candidate, judge, code, random.Random(0))
            await candidate.finish()
            return calls
        finally:
            await judge.close()
            await candidate.close()

    return asyncio.run(run())


def answers(source, *calls, spec=SPEC):
    async def run():
        async with await open_candidate(source, spec) as candidate:
            found = [answer async for answer in candidate.answers(calls)]
            await candidate.finish()
            return found

    return asyncio.run(run())


def test_a_right_function_is_accepted():
    cases("def solve(values):\n    return sorted(values)\n")


def test_a_wrong_value_is_refused_without_telling_it():
    with pytest.raises(CandidateFailure, match=r"^a hidden input gave a wrong value$"):
        cases("def solve(values):\n    return sorted(values)[:5]\n")


def test_types_are_compared_exactly():
    for body in ("tuple(sorted(values))", "[float(v) for v in sorted(values)]"):
        with pytest.raises(CandidateFailure, match="wrong value"):
            cases(f"def solve(values):\n    return {body}\n")


def test_judging_without_a_case_is_an_error_and_no_pass():
    with pytest.raises(ValueError, match="without a case"):
        cases("def solve(values):\n    return 1\n", [])


def test_an_exception_is_a_failure_whatever_was_expected():
    tests = [FunctionCase(call=Call(name="solve", arguments=()), expected=None)]
    with pytest.raises(CandidateFailure, match="raised KeyError"):
        cases("def solve():\n    raise KeyError('secret')\n", tests)


def test_an_expected_exception_must_come_and_must_be_the_right_one():
    tests = [
        FunctionCase(call=Call(name="solve", arguments=(-1,)), raises="ValueError"),
        FunctionCase(call=Call(name="solve", arguments=(2,)), expected=4),
    ]
    cases("def solve(n):\n    if n < 0: raise ValueError('x')\n    return n * n\n", tests)
    with pytest.raises(CandidateFailure, match="did not raise ValueError"):
        cases("def solve(n):\n    return n * n\n", tests)
    with pytest.raises(CandidateFailure, match="did not raise ValueError"):
        cases("def solve(n):\n    if n < 0: raise TypeError\n    return n * n\n", tests)


def test_a_subclass_of_a_builtin_exception_counts_as_it():
    source = "class Mine(ValueError): pass\ndef solve(n):\n    raise Mine\n"
    assert [a.raised for a in answers(source, Call(name="solve", arguments=(1,)))] == ["ValueError"]


def test_a_missing_function_and_code_that_does_not_load_are_failures():
    with pytest.raises(CandidateFailure, match="defines no 'solve'"):
        cases("def other(values):\n    return sorted(values)\n")
    for source in ("def solve(:", "import nowhere_to_be_found", "raise RuntimeError", "x = \0"):
        with pytest.raises(CandidateFailure, match="does not load"):
            cases(source)


def test_values_of_all_kinds_travel_both_ways():
    values = (
        [1, 2.5, -0.0, float("inf"), 2**200],
        {"a": (1, 2), 3: {4, 5}, (6,): frozenset({7})},
        "é\ud800\0\n漢🙂",
        b"\0\xff",
        None,
        True,
        3 + 4j,
        datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC),
        decimal.Decimal("1.10"),
    )
    tests = [FunctionCase(call=Call(name="echo", arguments=(v,)), expected=v) for v in values]
    cases("def echo(value):\n    return value\n", tests)


def test_keywords_are_passed():
    call = Call(name="solve", arguments=(1,), keywords={"b": 2})
    assert answers("def solve(a, b):\n    return a - b\n", call)[0].value == -1


def test_dictionaries_of_the_standard_library_are_taken_as_dictionaries():
    source = (
        "import collections\n"
        "def solve(values):\n"
        "    return [collections.Counter(values), collections.OrderedDict(a=1),"
        " collections.defaultdict(list, b=[2])]\n"
    )
    answer = answers(source, Call(name="solve", arguments=("aab",)))[0]
    assert answer.value == [{"a": 2, "b": 1}, {"a": 1}, {"b": [2]}]
    assert [type(item) for item in answer.value] == [dict, dict, dict]


def test_numbers_of_numpy_are_taken_as_numbers_at_any_depth():
    source = (
        "import numpy\n"
        "def solve():\n"
        "    return [numpy.int64(3), numpy.float64(0.5), (numpy.bool_(True),),"
        " {numpy.int8(1): numpy.complex128(2j)}, {numpy.uint8(7)}]\n"
    )
    answer = answers(source, Call(name="solve", arguments=()))[0]
    assert answer.value == [3, 0.5, (True,), {1: 2j}, {7}]
    assert [type(item) for item in answer.value[:2]] == [int, float]
    assert type(answer.value[2][0]) is bool


def test_an_array_of_numpy_is_no_list_of_numbers():
    source = "import numpy\ndef solve():\n    return numpy.array([1, 2])\n"
    assert "numpy.ndarray" in answers(source, Call(name="solve", arguments=()))[0].failure


def test_an_argument_is_rebuilt_for_each_call():
    source = "def solve(values):\n    values.append(1)\n    return len(values)\n"
    call = Call(name="solve", arguments=([],))
    assert [a.value for a in answers(source, call, call, call)] == [1, 1, 1]


def test_a_value_is_taken_when_it_is_returned():
    source = "shared = []\ndef solve(n):\n    shared.append(n)\n    return shared\n"
    found = answers(source, *(Call(name="solve", arguments=(n,)) for n in range(3)))
    assert [a.value for a in found] == [[0], [0, 1], [0, 1, 2]]


def test_unequal_values_of_equal_calls_are_refused():
    source = "count = 0\ndef solve(n):\n    global count\n    count += 1\n    return [n, count]\n"
    tests = [FunctionCase(call=Call(name="solve", arguments=(1,)), expected=1)]
    with pytest.raises(CandidateFailure, match="unequal values"):
        cases(source, tests, same=lambda expected, actual: True)


def test_not_a_number_equals_itself_between_equal_calls():
    nan = float("nan")
    tests = [FunctionCase(call=Call(name="solve", arguments=()), expected=nan)]
    cases("def solve():\n    return float('nan')\n", tests)


def test_many_and_large_calls_are_answered_in_order():
    calls = [Call(name="solve", arguments=("x" * 5000, n)) for n in range(300)]
    found = answers("def solve(text, n):\n    return (n, text)\n", *calls)
    assert [a.value[0] for a in found] == list(range(300))


def test_a_call_may_be_given_a_time_after_which_it_raises():
    source = "def solve(n):\n    while n: pass\n    return n\n"

    async def run():
        async with await open_candidate(source, SPEC) as reference:
            calls = [Call(name="solve", arguments=(n,)) for n in (0, 1, 0)]
            return [answer async for answer in reference.answers(calls, call_seconds=0.05)]

    assert [a.raised for a in asyncio.run(run())] == ["", "TimeoutError", ""]


def test_an_endless_loop_meets_the_cpu_limit():
    spec = dataclasses.replace(SPEC, limits=Limits(cpu_seconds=0.3, wall_seconds=30))
    with pytest.raises(CandidateFailure, match="cpu limit"):
        cases("def solve(values):\n    while True: pass\n", spec=spec)
    with pytest.raises(CandidateFailure, match="cpu limit"):
        cases("while True: pass\n", spec=spec)


def test_a_sleeping_function_meets_the_wall_limit():
    spec = dataclasses.replace(SPEC, limits=Limits(cpu_seconds=5, wall_seconds=0.5))
    with pytest.raises(CandidateFailure, match="wall limit"):
        cases("import time\ndef solve(values):\n    time.sleep(600)\n", spec=spec)


def test_deep_recursion_with_its_own_limit_is_no_failure():
    source = (
        "import sys\nsys.setrecursionlimit(60_000)\n"
        "def down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\n"
        "def solve(values):\n    assert down(20_000) == 20_000\n    return sorted(values)\n"
    )
    cases(source)


def test_output_and_names_of_any_script_are_no_failure():
    source = (
        "def solve(größe):\n"
        "    print('é漢🙂' * 50_000)\n"
        "    import sys\n    sys.stderr.write('x' * 300_000)\n"
        "    return sorted(größe)\n"
    )
    cases(source)


def test_code_below_the_main_guard_is_not_run():
    cases("def solve(v):\n    return sorted(v)\nif __name__ == '__main__':\n    input('?')\n")


def test_reading_standard_input_finds_it_empty():
    with pytest.raises(CandidateFailure, match="EOFError"):
        cases("def solve(values):\n    return input()\n")


# ---- checking code in the judge's own sandbox ----------------------------------------------------


def test_a_check_passes_with_the_number_of_its_calls():
    assert check("def solve(values):\n    return sorted(values)\n") == 3


def test_a_check_that_fails_is_the_candidates_failure():
    with pytest.raises(CandidateFailure, match="check failed with AssertionError"):
        check("def solve(values):\n    return values\n")
    with pytest.raises(CandidateFailure, match="check failed with IndexError"):
        check("def solve(values):\n    return [1, 2, 3] if values == [3, 1, 2] else []\n")


def test_an_exception_of_the_candidate_reaches_the_check_as_the_same_builtin():
    code = CheckingCode(
        sources=(),
        proxies={"solve": "solve"},
        body="try:\n    solve(1)\nexcept ZeroDivisionError:\n    pass\nelse:\n    assert False\n",
    )
    assert check("def solve(n):\n    return 1 / 0\n", code) == 1
    with pytest.raises(CandidateFailure, match="failed with KeyError"):
        check("def solve(n):\n    return {}[n]\n", code)


@pytest.mark.parametrize("error", ["SystemExit", "KeyboardInterrupt", "StopIteration"])
def test_an_exception_that_would_end_the_check_quietly_does_not(error):
    code = CheckingCode(
        sources=(),
        proxies={"solve": "solve"},
        body="assert list(map(solve, [1, 2])) == [1, 2]\n",
    )
    with pytest.raises(CandidateFailure, match="RuntimeError"):
        check(f"def solve(n):\n    raise {error}\n", code)


def test_a_check_that_calls_nothing_is_an_error_of_the_judge():
    for body in ("pass", "assert True"):
        code = CheckingCode(sources=(), proxies={"solve": "solve"}, body=body)
        with pytest.raises(CheckingCodeError, match="without calling"):
            check("def solve(n):\n    return n\n", code)


def test_a_check_that_fails_before_its_first_call_is_an_error_of_the_judge():
    for sources, body in (
        (("def broken(:",), "solve(1)"),
        ((), "undefined_name"),
        ((), "import os\nos._exit(0)"),
        ((), "raise SystemExit(0)"),
    ):
        code = CheckingCode(sources=sources, proxies={"solve": "solve"}, body=body)
        with pytest.raises(CheckingCodeError):
            check("def solve(n):\n    return n\n", code)


def test_a_check_sees_none_of_the_candidates_globals():
    code = CheckingCode(
        sources=(),
        proxies={"solve": "solve"},
        body="assert solve(1) == 1\nassert 'marker' not in globals()\n"
        "import sys\nassert 'solution' not in sys.modules\n",
    )
    assert check("marker = 1\nimport sys\nsys.marker = 2\ndef solve(n):\n    return n\n", code) == 1


def test_a_call_counter_is_found_out_by_calls_made_again():
    source = (
        "answers = iter([[1, 2, 3], [], [1, 2, 2]])\n"
        "def solve(values):\n    return next(answers, [])\n"
    )
    with pytest.raises(CandidateFailure, match="unequal values"):
        check(source)


def test_code_that_does_not_load_leaves_no_sandbox_of_the_judge():
    with pytest.raises(CandidateFailure, match="does not load"):
        check("raise ValueError")


# ---- sources -----------------------------------------------------------------------------------


def test_a_source_is_utf_8_text_that_is_not_empty():
    assert read_source({"solution.py": "\ufeffx = 'é'".encode()}) == "x = 'é'"
    for artifacts in ({}, {"solution.py": b""}, {"solution.py": b" \n"}, {"other.py": b"x"}):
        with pytest.raises(CandidateFailure, match="missing or empty"):
            read_source(artifacts)
    with pytest.raises(CandidateFailure, match="UTF-8"):
        read_source({"solution.py": b"\xff\xfe"})
