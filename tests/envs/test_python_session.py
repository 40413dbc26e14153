"""The persistent session: variables, output, limits, and ends that a candidate brings about."""

import asyncio

import pytest

from execgym.envs.python_session import MODULES, SOURCES, PythonSession
from execgym.judging import codec
from execgym.sandbox import Limits, SandboxSpec, Template, open_sandbox

TEMPLATE = Template(modules=MODULES, sources=SOURCES)


def run_calls(*calls, before=None, **limits):
    """Return the results of calls in one session."""

    async def go():
        spec = SandboxSpec(template=TEMPLATE, limits=Limits(**limits))
        async with await open_sandbox(spec) as sandbox:
            session = PythonSession(sandbox)
            results = [await session.run(code) for code in calls]
            files = await sandbox.list_files()
            return results, files

    return asyncio.run(go())


def outputs(*calls, **limits):
    results, _ = run_calls(*calls, **limits)
    return [result.command.stdout.decode() for result in results]


def test_variables_functions_and_imports_live_from_call_to_call():
    assert outputs("import math\nx = 2", "def f(y):\n    return math.factorial(x + y)", "f(3)") == [
        "",
        "",
        "120\n",
    ]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "2\n"),
        ("x = 1 + 1", ""),
        ("None", ""),
        ("print('a')\n'b'", "a\n'b'\n"),
        ("for i in range(2):\n    i", ""),
        ("'é你🙂'", "'é你🙂'\n"),
        ("", ""),
        ("# only a comment", ""),
        (
            "import sys; print('out'); print('err', file=sys.stderr); print('out again')",
            "out\nerr\nout again\n",
        ),
        ("import os; _n = os.write(1, b'raw\\n')", "raw\n"),
        ("import subprocess; _r = subprocess.run(['echo', 'child'])", "child\n"),
        ("_", ""),
    ],
)
def test_the_value_of_a_last_expression_is_shown_as_in_a_notebook(code, shown):
    if code == "_":
        assert outputs("6 * 7", "_ + 1") == ["42\n", "43\n"]
    else:
        assert outputs(code) == [shown]


def test_a_traceback_names_the_line_and_nothing_of_the_driver():
    results, _ = run_calls("def f():\n    return 1 / 0", "x = 1\nf()\n")
    failed = results[1]
    text = failed.command.stdout.decode()
    assert failed.command.exit_code == 1
    assert not failed.ended
    assert 'File "<call 2>", line 2' in text
    assert 'File "<call 1>", line 2' in text
    assert "return 1 / 0" in text
    assert "ZeroDivisionError" in text
    assert "driver" not in text


def test_a_syntax_error_is_shown_and_the_session_goes_on():
    results, _ = run_calls("x = 3", "if x\n", "x")
    assert "SyntaxError" in results[1].command.stdout.decode()
    assert results[2].command.stdout == b"3\n"


def test_exit_ends_the_call_and_not_the_session():
    results, _ = run_calls("x = 3\nexit()", "raise SystemExit('because')", "x")
    assert [result.command.exit_code for result in results] == [0, 1, 0]
    assert b"because" in results[1].command.stdout
    assert results[2].command.stdout == b"3\n"


@pytest.mark.parametrize(
    ("code", "kind"),
    [("while True:\n    x += 1", "CPU"), ("import time\ntime.sleep(100)", "wall")],
)
def test_a_call_over_its_time_is_interrupted_at_its_line_and_keeps_the_variables(code, kind):
    results, _ = run_calls(
        "x = 7", "print('so far')\n" + code, "x >= 7", cpu_seconds=0.5, wall_seconds=2.0
    )
    text = results[1].command.stdout.decode()
    assert "so far" in text
    assert f"the {kind} limit" in text
    assert "<call 2>" in text
    assert not results[1].ended
    assert results[2].command.stdout == b"True\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os\nos._exit(3)", "status 3"),
        ("import os\nos.kill(os.getpid(), 9)", "signal 9"),
        ("import ctypes\nctypes.string_at(0)", "signal 11"),
        ("import os\nos.close(3)", "process"),
        ("import sandbox_channel\nsandbox_channel.send(b'junk')", "process"),
        ("import sandbox_channel\nsandbox_channel._FD = 1", "process"),
        (
            "import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\nwhile True: pass",
            "cpu limit",
        ),
        (
            "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(99)",
            "wall",
        ),
    ],
)
def test_a_session_that_ends_says_why_and_a_fresh_one_begins(code, why):
    results, files = run_calls(
        "open('kept.txt', 'w').write('1')\nx = 5",
        "print('so far')\n" + code,
        "'x' in globals()",
        cpu_seconds=0.5,
        wall_seconds=5.0 if "cpu" in why else 1.0,
    )
    ended = results[1]
    assert why in ended.ended
    assert ended.command.exit_code != 0
    assert b"so far" in ended.command.stdout
    assert results[2].command.stdout == b"False\n"
    assert not results[2].ended
    assert files == ("kept.txt",)


@pytest.mark.parametrize(
    "replace",
    ["os.mkfifo(path)", "os.symlink('/dev/zero', path)", "pass", "os.symlink(path, path)"],
)
@pytest.mark.parametrize("ending", ["os._exit(1)", "None"])
def test_whatever_lies_in_the_place_of_the_output_holds_nothing_up(replace, ending):
    code = f"import os\npath = '/tmp/session-output'\nos.unlink(path)\n{replace}\n{ending}"
    results, _ = run_calls(code, "print('on')", wall_seconds=3.0)
    assert results[1].command.stdout == b"on\n"
    assert results[0].command.wall_seconds < 3.0


def test_much_output_is_cut_in_the_middle_and_counted():
    results, _ = run_calls("print('a' * 10 + 'b' * 5000 + 'c' * 10)", output_bytes=100)
    command = results[0].command
    assert len(command.stdout) == 100
    assert command.stdout.startswith(b"a" * 10)
    assert command.stdout.endswith(b"c" * 10 + b"\n")
    assert command.stdout_dropped == 5021 - 100


def test_output_without_end_stops_at_a_bound():
    results, _ = run_calls("while True: print('x' * 10**6)", "print('on')", file_bytes=2**23)
    assert results[0].command.exit_code == 1
    assert results[1].command.stdout == b"on\n"


def test_memory_that_is_not_there_is_an_error_of_the_call():
    results, _ = run_calls("x = 1\ny = bytearray(2**30)", "x", memory_bytes=2**27)
    assert b"MemoryError" in results[0].command.stdout
    assert results[1].command.stdout == b"1\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"number": 2, "ok": True, "output": b"", "dropped": 0, "cpu_seconds": 0.0},
        {"ok": True, "output": b"x" * 2_000_000, "dropped": 0, "cpu_seconds": 0.0},
        {"ok": 1, "output": b"", "dropped": 0, "cpu_seconds": 0.0},
        {"ok": True, "output": b"", "dropped": -1, "cpu_seconds": 0.0},
        {"ok": True, "output": b"", "dropped": 0, "cpu_seconds": float("nan")},
        {"ok": True, "output": "", "dropped": 0, "cpu_seconds": 0.0},
        ["ok"],
        {},
    ],
)
def test_a_forged_answer_that_is_malformed_ends_the_session(answer):
    forged = codec.encode(
        {"number": 1, **answer} if isinstance(answer, dict) and answer else answer
    )
    results, _ = run_calls(
        f"import sandbox_channel\nsandbox_channel.send({forged!r})", "print('on')"
    )
    assert results[0].ended
    assert results[1].command.stdout == b"on\n"


def test_a_process_that_a_call_leaves_behind_does_not_hold_the_next_call():
    results, _ = run_calls(
        "import subprocess\np = subprocess.Popen(['sleep', '100'])", "p.poll() is None"
    )
    assert results[1].command.stdout == b"True\n"
