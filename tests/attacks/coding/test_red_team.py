"""Further tricks in the candidate's process do not pay; odd but right solutions pass."""

import asyncio

import pytest

from execgym.envs.coding.hidden import FunctionTests
from execgym.envs.coding.judge import CodingJudge
from execgym.envs.task import Task
from execgym.judging.candidate import Call
from execgym.judging.functions import FunctionCase
from execgym.judging.verdict import Status

INPUTS = ([], [3, 1, 2], [5, 5], [9, -1], [0, 1])
TASK = Task(id="sort", domain="coding", prompt="", level=1, split="train")


class OwnSource:
    """Hidden calls of a function that sorts."""

    def hidden(self, task_id, chance):
        return FunctionTests(
            cases=tuple(
                FunctionCase(call=Call(name="solve", arguments=(v,)), expected=sorted(v))
                for v in INPUTS
            )
        )


def grade(source):
    return asyncio.run(CodingJudge(OwnSource()).grade(TASK, {"solution.py": source.encode()}))


@pytest.mark.parametrize(
    "source",
    [
        "import os\ndef solve(v):\n    os.fork()\n    return sorted(v)\n",
        "import os\ndef solve(v):\n    if os.fork(): os._exit(0)\n    return []\n",
        "import execgym_codec as c, sandbox_channel as h\ndef solve(v):\n"
        "    [h.send(c.encode(('value', n, c.encode([])))) for n in range(60)]\n    return []\n",
        "def solve(v): return [bool(x) if x in (0, 1) else x for x in sorted(v)]\n",
        "def solve(v): return [float(x) for x in sorted(v)]\n",
        "class M(type):\n    __name__ = property(lambda c: 1 / 0)\n"
        "class E(Exception, metaclass=M): pass\ndef solve(v): raise E\n",
        "import decimal\ndef solve(v): return [decimal.Decimal('sNaN')] * len(v)\n",
        "def solve(v): return [1 << 1_000_000] * 20\n",
        "import os\ndef solve(v):\n    os.write(1, b'x' * 5_000_000)\n    return []\n",
    ],
)
def test_another_trick_of_the_candidates_process_fails(source):
    assert grade(source).status is Status.FAIL


@pytest.mark.parametrize(
    "source",
    [
        "class S:\n    def __call__(self, values): return sorted(values)\nsolve = S()\n",
        "import functools\nsolve = functools.partial(sorted)\n",
        "import asyncio\nasync def f(v): return sorted(v)\n"
        "def solve(v): return asyncio.run(f(v))\n",
        "def größe(ß): return sorted(ß)\r\ndef solve(v): return größe(v)\r\n",
        "list = dict = str = tuple = None\nsum = 3\ndef solve(v): return sorted(v)\n",
        "def solve(v):\n    for i in range(20000): print('debug', i, v)\n    return sorted(v)\n",
    ],
)
def test_an_odd_but_right_function_passes(source):
    verdict = grade(source)
    assert verdict.status is Status.PASS, verdict
