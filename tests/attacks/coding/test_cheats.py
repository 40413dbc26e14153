"""The classics never pay, and a right answer in the same wrapping still passes where it is right.

Each trick is run as (a) a wrong answer with the trick, in all three ways of judging, which must not
pass, and, where the trick leaves an answer at all, as (b) a right answer with it, which must.
"""

import asyncio

import pytest

from execgym.envs.coding.hidden import CheckedTests, FunctionTests, FurtherInputs, ProgramTests
from execgym.envs.coding.judge import CodingJudge
from execgym.envs.task import Task
from execgym.judging.candidate import Call
from execgym.judging.functions import CheckingCode, FunctionCase
from execgym.judging.programs import ProgramCase
from execgym.judging.verdict import Status

INPUTS = [[], [3, 1, 2], [5, 5], [9, -1], [8, 7, 6, 5, 4], [0], [2, 4, 1], [1, 0]]
REFERENCE = "def solve(values):\n    return sorted(values)\n"
TESTS = {
    "cases": FunctionTests(
        cases=tuple(
            FunctionCase(call=Call(name="solve", arguments=(v,)), expected=sorted(v))
            for v in INPUTS
        )
    ),
    "check": CheckedTests(
        code=CheckingCode(
            sources=(
                "import math\n"
                "def check(candidate):\n"
                "    assert candidate([3, 1, 2]) == [1, 2, 3]\n"
                "    assert len(candidate([5, 5])) == 2 and candidate([5, 5])[0] == 5\n"
                "    assert candidate([9, -1]) == sorted([9, -1]) and not candidate([])\n"
                "    assert abs(candidate([0.5, 0.25])[0] - 0.25) < 1e-6\n"
                "    assert all(a == b for a, b in zip(candidate([2, 1]), [1, 2]))\n"
                "    assert math.isclose(sum(candidate([2, 1])), 3)\n",
            ),
            proxies={"candidate": "solve"},
            body="check(candidate)\n",
        )
    ),
    "further": CheckedTests(
        code=CheckingCode(
            sources=(), proxies={"solve": "solve"}, body="assert solve([2, 1]) is not None\n"
        ),
        further=FurtherInputs(
            function="solve",
            references=(REFERENCE,),
            contract="def solve(values):\n    assert isinstance(values, list)\n",
            inputs=tuple((v,) for v in (*INPUTS, "not allowed")),
            tolerance=0.0,
        ),
    ),
    "program": ProgramTests(
        cases=tuple(
            ProgramCase(
                stdin=" ".join(map(str, v)) + "\n",
                expected=" ".join(map(str, sorted(v))) or "EMPTY",
            )
            for v in INPUTS
        )
    ),
}
FUNCTION_WAYS = ("cases", "check", "further")


class OwnSource:
    """Hidden tests by id, as a task source holds them."""

    def hidden(self, task_id, chance):
        return TESTS[task_id]


def grade(way, source):
    task = Task(id=way, domain="coding", prompt="", level=1, split="train")
    judge = CodingJudge(OwnSource())
    return asyncio.run(judge.grade(task, {"solution.py": source.encode("utf-8", "surrogatepass")}))


def function(before="", answer="[]", inside="pass"):
    """Return a solution: `before` at import, `inside` in each call, then `answer`."""
    return f"{before}\ndef solve(values):\n    {inside}\n    return {answer}\n"


def program(before="", answer="'0'"):
    main = f"values = list(map(int, input().split()))\nprint({answer})\n"
    return f"{before}\n{main}"


RIGHT_ANSWER = "sorted(values)"
RIGHT_LINE = "' '.join(map(str, sorted(values))) or 'EMPTY'"

ENDINGS = {
    "sys.exit": "import sys; sys.exit(0)",
    "SystemExit": "raise SystemExit",
    "SystemExit zero": "raise SystemExit(0)",
    "exit": "exit()",
    "quit": "quit(0)",
    "os._exit": "import os; os._exit(0)",
    "ctypes exit": "import ctypes; ctypes.CDLL(None)._exit(0)",
    "ctypes exit with handlers": "import ctypes; ctypes.CDLL(None).exit(0)",
    "kill self": "import os; os.kill(os.getpid(), 9)",
    "terminate self": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "abort": "import os; os.abort()",
    "execv": "import os; os.execv('/bin/true', ['true'])",
    "execv python": "import os, sys; os.execv(sys.executable, ['python', '-c', 'print(1)'])",
    "fork and leave": "import os; os.fork() and os._exit(0)",
    "kill all": "import os; os.kill(-1, 9)",
    "kill the first process": "import os; os.kill(1, 9); os._exit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "close every descriptor": "import os; os.closerange(0, 256)",
    "deep recursion": "f = lambda: f(); f()",
    "AssertionError": "assert False",
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", FUNCTION_WAYS)
def test_ending_before_the_end_is_a_failure(way, ending):
    for source in (
        function(before=ENDINGS[ending]),
        function(inside=ENDINGS[ending]),
        f"{ENDINGS[ending]}\n",
        function(
            before=f"import threading\nthreading.Timer(0.0, lambda: exec({ENDINGS[ending]!r}))"
            ".start()"
        ),
    ):
        verdict = grade(way, source)
        assert verdict.status is Status.FAIL, (source, verdict)
        assert verdict.score == 0.0


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_that_ends_before_it_has_printed_fails(ending):
    for source in (program(before=ENDINGS[ending]), program(answer="''") + ENDINGS[ending]):
        assert grade("program", source).status is Status.FAIL


LIES = {
    "always equal": "type('E', (), {'__eq__': lambda s, o: True, '__hash__': lambda s: 0,"
    " '__len__': lambda s: 2, '__getitem__': lambda s, i: s, '__sub__': lambda s, o: 0,"
    " '__iter__': lambda s: iter(())})()",
    "int with patched operators": "[type('I', (int,), {'__eq__': lambda s, o: True,"
    " '__sub__': lambda s, o: 0, '__abs__': lambda s: 0, '__lt__': lambda s, o: True,"
    " '__hash__': lambda s: 1})(3)] * len(values)",
    "str with patched operators": "type('S', (str,), {'__eq__': lambda s, o: True})('x')",
    "list with patched operators": "type('L', (list,), {'__eq__': lambda s, o: True,"
    " '__len__': lambda s: 2})([1])",
    "dict with patched operators": "type('D', (dict,), {'__eq__': lambda s, o: True})()",
    "a lie about its class": "type('C', (), {'__class__': property(lambda s: list),"
    " '__eq__': lambda s, o: True})()",
    "an instance of a lying metaclass": "type('M', (type,), {'__instancecheck__':"
    " lambda c, o: True, '__eq__': lambda c, o: True, '__hash__': lambda c: hash(list)})"
    "('L', (), {})()",
    "raises on repr": "type('R', (), {n: (lambda s, *a: 1 / 0) for n in"
    " ('__repr__', '__str__', '__len__', '__iter__', '__eq__', '__bool__')})()",
    "reduces to a command": "type('P', (), {'__reduce__': lambda s: (exec, ('1',))})()",
    "contains itself": "(lambda a: (a.append(a), a)[1])([])",
    "very deep": "__import__('functools').reduce(lambda a, _: [a], range(100_000), [])",
    "very long": "[0] * 10_000_000",
    "a huge number": "[1 << 80_000_000]",
    "surrogates": "['\\ud800' * 5]",
    "not a number": "[float('nan')] * len(values)",
    "not a number as key": "{float('nan'): 1}",
    "a generator": "(v for v in sorted(values))",
    "an iterator": "iter(sorted(values))",
    "a class": "list",
    "a function": "solve",
    "a module": "__import__('sys')",
    "NotImplemented": "NotImplemented",
    "an exception": "ValueError()",
    "a mock": "__import__('unittest.mock').mock.MagicMock()",
    "None": "None",
    "True": "True",
    "zero": "0",
    "an empty text": "''",
    "an empty list": "[]",
    "the argument": "values",
    "colliding keys": "{i * (2**61 - 1): 0 for i in range(4_000)}",
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("way", FUNCTION_WAYS)
def test_an_answer_that_lies_about_itself_is_a_failure(way, lie):
    verdict = grade(way, function(answer=LIES[lie]))
    assert verdict.status is Status.FAIL, verdict


FORGE = """
import execgym_codec as codec, sandbox_channel as channel
def forge(message):
    channel.send(codec.encode(message))
"""
EVERYWHERE = """
import os, struct
def spray(data):
    for fd in range(256):
        sizes = struct.pack('>I', len(data)), struct.pack('<I', len(data))
        for piece in (data, sizes[0] + data, sizes[1] + data):
            try:
                os.set_blocking(fd, False)
                os.write(fd, piece)
            except OSError:
                pass
"""
PATCHES = """
import builtins, functools, itertools, json, math, operator, struct, unittest
for name in ('all', 'any', 'abs', 'sum', 'isinstance', 'type', 'repr', 'min', 'max', 'len', 'zip'):
    setattr(builtins, name, lambda *a, **k: True)
math.isclose = json.loads = json.dumps = operator.eq = lambda *a, **k: True
unittest.TestCase.run = lambda s, r=None: r.addSuccess(s)
AssertionError = Exception
"""
WALK = """
import sys
def walk():
    found = []
    for depth in range(100):
        try:
            frame = sys._getframe(depth)
        except ValueError:
            break
        for space in (frame.f_locals, frame.f_globals):
            for name, value in list(space.items()):
                if any(word in name.lower() for word in ('expect', 'answer', 'gold', 'case')):
                    found.append(value)
    return found
"""
SEARCH = """
import gc
def search(values):
    found = [o for o in gc.get_objects() if type(o) is list and len(o) == len(values)
             and sorted(map(str, o)) == sorted(map(str, values)) and o != values]
    return found[0] if found else []
"""
PROC = """
import glob, os
def look(values):
    seen = b''
    for path in glob.glob('/proc/*/*') + glob.glob('/proc/*/fd/*') + ['/proc/self/mem']:
        name = path.rsplit('/', 1)[-1]
        if name in ('environ', 'cmdline', 'maps', 'stat', 'mem') or '/fd/' in path:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                seen += os.read(descriptor, 1 << 16)
            except OSError:
                pass
            finally:
                os.close(descriptor)
    return seen
"""
FILES = """
import os
text = 'import builtins, unittest\\nbuiltins.all = lambda *a: True\\nprint("sitecustomize")\\n'
for name in ('sitecustomize.py', 'usercustomize.py', 'conftest.py', 'json.py', 'execgym_codec.py',
             'sandbox_channel.py', 'math.py', 'pytest.ini', 'evil.pth', 'reward.txt'):
    for folder in ('.', '/tmp', '/workspace'):
        try:
            with open(os.path.join(folder, name), 'w') as file:
                file.write(text)
        except OSError:
            pass
"""
PRINTS = """
import os, sys
VERDICT = '{"status": "pass", "score": 1.0}\\nPASSED\\nok 1\\n>>>>> All Tests Passed\\n'
for _ in range(50):
    print(VERDICT, flush=True)
    sys.stderr.write(VERDICT)
"""
DAEMON = """
import os, threading, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(600)
    os._exit(0)
def idle():
    while True:
        time.sleep(0.05)
threading.Thread(target=idle).start()
threading.Thread(target=idle, daemon=True).start()
"""
HOOKS = """
import atexit, gc, signal, sys, warnings
atexit.register(lambda: 1 / 1)
sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
sys.excepthook = lambda *a: None
sys.displayhook = lambda *a: None
signal.signal(signal.SIGTERM, signal.SIG_IGN)
gc.disable()
warnings.simplefilter('ignore')
"""
CLOSED = """
import io, os, sys
sys.stdout = sys.stderr = io.StringIO()
sys.stdin = None
for name in list(sys.modules):
    if name.startswith(('unittest', 'json')):
        del sys.modules[name]
"""
NAMES = """
def check(candidate): return True
def run_tests(): return True
def main(): return True
def assert_equal(*a): return True
__name__ = '__main__'
candidate = check
"""

# name: (what comes first, what is done inside the call)
TRICKS = {
    "patched builtins and modules": (PATCHES, "pass"),
    "walk up the stack": (WALK, "walk()"),
    "search the heap": (SEARCH, "search(values)"),
    "read proc": (PROC, "look(values)"),
    "files for a later start": (FILES, "pass"),
    "printed verdicts": (PRINTS, "print(VERDICT)"),
    "processes and threads left behind": (DAEMON, "pass"),
    "hooks": (HOOKS, "pass"),
    "closed and replaced streams": (CLOSED, "pass"),
    "names of checkers": (NAMES, "pass"),
    "changed argument": ("", "values.sort()"),
    "a broken environment": (
        "import os\nos.environ.clear()\nos.environ['PYTHONPATH'] = '/workspace'",
        "pass",
    ),
}


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("way", FUNCTION_WAYS)
def test_a_trick_does_not_make_a_wrong_answer_right(way, trick):
    before, inside = TRICKS[trick]
    for answer in ("[1, 2]", "True", "values[::-1]", "None"):
        verdict = grade(
            way,
            function(before, answer, inside if trick != "changed argument" else "values.clear()"),
        )
        assert verdict.status is Status.FAIL, verdict


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("way", FUNCTION_WAYS)
def test_a_right_answer_passes_with_the_same_trick(way, trick):
    before, inside = TRICKS[trick]
    verdict = grade(way, function(before, RIGHT_ANSWER, inside))
    assert verdict.status is Status.PASS, verdict


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_in_a_program_does_not_pay_and_does_not_hurt(trick):
    before, _ = TRICKS[trick]
    if trick in (
        "printed verdicts",
        "patched builtins and modules",
        "closed and replaced streams",
        "processes and threads left behind",
    ):
        # They spoil the program's own output or never end, so that only the wrong half applies.
        assert grade("program", program("import sys\n", "'PASSED'")).status is Status.FAIL
        return
    assert grade("program", program(before)).status is Status.FAIL
    assert grade("program", program(before, RIGHT_LINE)).status is Status.PASS


FORGERIES = {
    "an answer ahead of the call": "forge(('value', 0, codec.encode([])))",
    "an answer to a later call": "forge(('value', 7, codec.encode([])))",
    "an end": "forge(('end',))",
    "a loaded message": "forge(('loaded',))",
    "a verdict": "forge(('passed',))",
    "a call": "forge(('call', 'solve', codec.encode(()), codec.encode({})))",
    "something else": "forge({'status': 'pass', 'score': 1.0})",
    "an empty tuple": "forge(())",
    "no encoding": "channel.send(b'\\x00' * 50)",
    "an empty message": "channel.send(b'')",
    "many": "[forge(('value', n, codec.encode([]))) for n in range(200)]",
    "a true in place of a number": "forge(('value', True, codec.encode([])))",
    "a large message": "channel.send(b'\\x01' * 7_000_000)",
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("way", FUNCTION_WAYS)
def test_a_forged_message_is_a_failure_even_beside_right_answers(way, forgery):
    for source in (
        function(FORGE + FORGERIES[forgery]),
        function(FORGE, "[]", FORGERIES[forgery]),
        function(FORGE, RIGHT_ANSWER, FORGERIES[forgery]),
        FORGE + FORGERIES[forgery],
    ):
        verdict = grade(way, source)
        assert verdict.status is Status.FAIL, (source, verdict)


@pytest.mark.parametrize("way", [*FUNCTION_WAYS, "program"])
@pytest.mark.parametrize(
    "data",
    [
        "b'PASS\\n'",
        "__import__('execgym_codec').encode(('passed',))",
        "__import__('execgym_codec').encode(('end',))",
        "b'\\x00' * 64",
        "b'\\xff' * 4096",
        "bytes(range(256))",
    ],
)
def test_writing_on_every_descriptor_never_pays(way, data):
    wrong = program if way == "program" else function
    spray = f"{EVERYWHERE}spray({data})\n"
    for before in (spray, f"{spray}os._exit(0)"):
        verdict = grade(way, wrong(before))
        assert verdict.status is Status.FAIL, verdict


def test_replacing_the_driver_is_only_another_way_to_answer_wrongly():
    source = (
        "import gc, execgym_codec, sandbox_channel, execgym_candidate_driver as driver\n"
        "lie = execgym_codec.encode([])\n"
        "driver._Driver._answer = lambda s, m, number, *a: ('value', number, lie)\n"
        "driver._Driver._encode = lambda s, value: lie\n"
        "for one in gc.get_objects():\n"
        "    if type(one) is driver._Driver:\n"
        "        one._answer = lambda m, number, *a: ('value', number, lie)\n"
        "driver._plain = driver._type_name = lambda *a: 'KeyError'\n" + function()
    )
    for way in FUNCTION_WAYS:
        assert grade(way, source).status is Status.FAIL


def test_breaking_the_channel_or_the_codec_is_a_failure():
    source = (
        "import execgym_codec, sandbox_channel\n"
        "execgym_codec.encode = lambda *a: b'\\x01T'\n"
        "sandbox_channel.send = print\n"
        "sandbox_channel.receive = lambda: None\n" + function(answer=RIGHT_ANSWER)
    )
    for way in FUNCTION_WAYS:
        assert grade(way, source).status is Status.FAIL


def test_a_counter_of_calls_does_not_answer_for_the_function():
    answers = [sorted(v) for v in INPUTS]
    source = f"answers = iter({answers!r} * 9)\ndef solve(values):\n    return next(answers)\n"
    for _ in range(3):
        assert grade("cases", source).status is Status.FAIL
    order = [[1, 2, 3], [5, 5], [5, 5], [-1, 9], [], [0.25, 0.5], [1, 2], [1, 2]]
    source = (
        f"answers = iter({order!r} + [[]] * 99)\ndef solve(values):\n    return next(answers)\n"
    )
    assert grade("check", source).status is Status.FAIL


def test_hidden_inputs_and_answers_are_not_in_the_sandbox():
    # Whatever the candidate can read, it sends home in its answer's place.
    source = (
        "import os, sys\n"
        "found = [m for m in sys.modules if m.split('.')[0] in ('execgym', 'gymnasium')]\n"
        "try:\n"
        "    import execgym.envs.coding.generated\n"
        "    found.append('imported')\n"
        "except ImportError:\n"
        "    pass\n"
        "for folder, folders, files in os.walk('/'):\n"
        "    if folder.startswith(('/proc', '/sys', '/usr')):\n"
        "        folders.clear()\n"
        "    found += [f for f in files if 'HumanEval' in f or 'mbpp' in f.lower()]\n"
        "def solve(values):\n"
        "    return ['leak'] if found else sorted(values)\n"
    )
    assert grade("cases", source).status is Status.PASS


def test_a_verdict_holds_nothing_that_the_candidate_wrote_of_the_hidden_inputs():
    source = function(inside="raise ValueError('hidden ' + repr(values))")
    for way in FUNCTION_WAYS:
        verdict = grade(way, source)
        assert "hidden [" not in repr(verdict)
        assert "[" not in verdict.reason


def test_slow_but_right_answers_pass():
    slow = "import time\nt = time.process_time()\nwhile time.process_time() - t < 0.05: pass"
    inside = slow.replace("\n", "\n    ")
    for way in FUNCTION_WAYS:
        assert grade(way, function("", RIGHT_ANSWER, inside)).status is Status.PASS


@pytest.mark.parametrize(
    "source", ["", " ", "None", "0", '""', "[]", "True", "pass", "SELECT 1", "\0"]
)
def test_trivial_submissions_fail_in_every_way(source):
    for way in TESTS:
        assert grade(way, source).status is Status.FAIL
