"""Programs are run as scripts and judged by what they print, by the usual rule of white space."""

import asyncio
import dataclasses
import random

import pytest

from execgym.judging.candidate import CandidateFailure, template
from execgym.judging.programs import ProgramCase, judge_program
from execgym.sandbox import Limits, SandboxSpec

SPEC = SandboxSpec(template=template(), limits=Limits(cpu_seconds=5, wall_seconds=30))
SUMS = [
    ProgramCase(stdin=f"{len(n)}\n{' '.join(map(str, n))}\n", expected=f"{sum(n)}\n")
    for n in ([], [1], [2, 3], [-5, 5, 7], list(range(100)))
]
SUM = "n = int(input())\nprint(sum(map(int, input().split())))\n"


def judge(source, cases=SUMS, spec=SPEC):
    asyncio.run(judge_program(source, cases, spec, random.Random(0)))


RIGHT = {
    "input": SUM,
    "one read": "import sys\nd = sys.stdin.read().split()\nprint(sum(map(int, d[1:])))\n",
    "bytes": "import sys\nd = sys.stdin.buffer.read().split()\nprint(sum(map(int, d[1:])))\n",
    "open(0)": "it = iter(open(0))\nnext(it)\nprint(sum(map(int, next(it).split())))\n",
    "global": "T = 0\ndef f():\n    global T\n    input()\n    T = sum(map(int, input().split()))\n"
    "f()\nprint(T)\n",
    "main guard": "def main():\n    input()\n    print(sum(map(int, input().split())))\n"
    "if '__main__' == __name__:\n    main()\nelse:\n    raise SystemExit(3)\n",
    "guard in try": "try:\n    if __name__ == '__main__':\n        input()\n"
    "        print(sum(map(int, input().split())))\nexcept ValueError:\n    pass\n",
    "os.write": "import os\ninput()\n"
    "os.write(1, (str(sum(map(int, input().split()))) + '\\n').encode())\n",
    "sys.__stdout__": "import sys\ninput()\n"
    "print(sum(map(int, input().split())), file=sys.__stdout__)\n",
    "subprocess": "import subprocess, sys\ninput()\n"
    "subprocess.run(['echo', str(sum(map(int, input().split())))], check=True)\n",
    "no last newline": "input()\nprint(sum(map(int, input().split())), end='')\n",
    "crlf": "input()\nprint(str(sum(map(int, input().split()))) + ' ', end='\\r\\n\\r\\n')\n",
    "noisy stderr": "import sys\nsys.stderr.write('é' * 200_000)\n" + SUM,
    "exit": SUM + "import sys\nsys.exit(0)\n",
    "exit without status": SUM + "exit()\n",
    "thread": "import sys, threading\nsys.setrecursionlimit(100_000)\n"
    "threading.stack_size(64 * 1024 * 1024)\n"
    "def down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\n"
    "def main():\n    down(30_000)\n    input()\n    print(sum(map(int, input().split())))\n"
    "t = threading.Thread(target=main)\nt.start()\nt.join()\n",
    "recursion": "import sys\nsys.setrecursionlimit(100_000)\n"
    "def down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\ndown(20_000)\n" + SUM,
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_passes_whatever_its_shape(name):
    judge(RIGHT[name])


def test_text_of_any_script_passes_in_both_directions():
    cases = [
        ProgramCase(stdin="é漢🙂\n", expected="🙂漢é"),
        ProgramCase(stdin="ab\n", expected="ba"),
    ]
    judge("print(input()[::-1])\n", cases)


WRONG = {
    "nothing": "pass",
    "zero": "print(0)",
    "too much": SUM + "print('PASS')\n",
    "first value only": "print(0); print(1); print(5); print(7); print(4950)",
    "verdict": "print('All tests passed'); import sys; sys.exit(0)",
    "exit first": "import os; os._exit(0)\n" + SUM,
    "status": SUM + "raise SystemExit(1)\n",
    "exception": SUM + "1 / 0\n",
    "killed": SUM + "import os, sys; sys.stdout.flush(); os.kill(os.getpid(), 9)\n",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "syntax": "print(",
    "echo": "import sys; print(sys.stdin.read())",
    "binary": "import os; os.write(1, b'\\xff\\xfe')",
    "flood": "print('9' * 5_000_000)",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_does_not_pass(name):
    with pytest.raises(CandidateFailure):
        judge(WRONG[name])


def test_a_counter_in_a_file_does_not_help():
    source = (
        "import os\nn = len(os.listdir('.'))\nopen(f'f{n}', 'w').close()\n"
        "print([0, 1, 5, 7, 4950][min(n, 4)])\n"
    )
    many = [ProgramCase(stdin="", expected=str(number)) for number in (0, 1, 5, 7, 4950) * 3]
    with pytest.raises(CandidateFailure, match="wrong output"):
        judge(source, many)


def test_limits_are_failures():
    spec = dataclasses.replace(SPEC, limits=Limits(cpu_seconds=0.3, wall_seconds=30))
    with pytest.raises(CandidateFailure, match="cpu limit"):
        judge("while True: pass", spec=spec)
    spec = dataclasses.replace(SPEC, limits=Limits(cpu_seconds=5, wall_seconds=0.5))
    with pytest.raises(CandidateFailure, match="wall limit"):
        judge("import time; time.sleep(600)", spec=spec)


def test_a_process_left_by_one_run_is_gone_in_the_next():
    source = (
        "import os, time\n"
        "mine = (1, os.getpid())\n"
        "others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) not in mine]\n"
        "input()\nvalues = input().split()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n    os.close(0); os.close(1); os.close(2)\n    time.sleep(600)\n"
        "print(sum(map(int, values)) if not others else 'someone is here')\n"
    )
    judge(source)


def test_a_case_must_expect_some_output_and_there_must_be_one():
    with pytest.raises(ValueError, match="expect some output"):
        ProgramCase(stdin="", expected=" \n")
    with pytest.raises(ValueError, match="without a case"):
        judge("pass", [])
