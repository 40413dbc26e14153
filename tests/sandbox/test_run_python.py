"""`run_python` is what `python main.py` would be, in a sandbox."""

import pytest

from execgym.sandbox import CommandFailedError, LimitExceededError, run_sync


def run(sandbox, code, **options):
    return run_sync(sandbox.run_python(code, **options))


def test_output_and_status_come_back_apart(sandbox):
    result = run(sandbox, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", 3)
    assert not result.ok
    assert (result.signal, result.limit) == (0, "")


def test_the_code_is_the_main_module(sandbox):
    code = """
import sys, __main__
def f(): pass
print(__name__, sys.modules['__main__'] is __main__, __main__.f is f, f.__module__)
"""
    assert run(sandbox, code).stdout == b"__main__ True True __main__\n"


def test_names_of_the_runner_are_not_in_the_main_module(sandbox):
    code = "print(sorted(name for name in globals()))"
    names = run(sandbox, code).stdout.decode()
    assert "wire" not in names
    assert "code" not in names


def test_arguments_follow_the_script_name(sandbox):
    result = run(sandbox, "import sys; print(sys.argv[1:])", argv=["a b", "", "--x", "é"])
    assert result.stdout.decode() == "['a b', '', '--x', 'é']\n"


def test_standard_input_is_read_to_its_end(sandbox):
    data = bytes(range(256)) * 4096
    code = "import sys, zlib; d = sys.stdin.buffer.read(); print(len(d), zlib.crc32(d))"
    import zlib

    assert run(sandbox, code, stdin=data).stdout.decode() == f"{len(data)} {zlib.crc32(data)}\n"


def test_without_input_standard_input_is_at_its_end(sandbox):
    assert run(sandbox, "import sys; print(repr(sys.stdin.read()))").stdout == b"''\n"


def test_input_that_nobody_reads_does_no_harm(sandbox):
    assert run(sandbox, "print('done')", stdin=b"x" * 5_000_000).stdout == b"done\n"


def test_reading_past_the_input_is_an_end_of_file_error(sandbox):
    result = run(sandbox, "input()")
    assert result.exit_code == 1
    assert b"EOFError" in result.stderr


@pytest.mark.parametrize(
    ("argument", "status", "message"),
    [
        ("", 0, b""),
        ("None", 0, b""),
        ("0", 0, b""),
        ("7", 7, b""),
        ("256", 0, b""),
        ("-1", 255, b""),
        ("True", 1, b""),
        ("'wrong'", 1, b"wrong\n"),
        ("1.5", 1, b"1.5\n"),
        ("(1, 2)", 1, b"(1, 2)\n"),
    ],
)
def test_every_form_of_exit_gives_the_interpreters_status(sandbox, argument, status, message):
    result = run(sandbox, f"import sys; sys.exit({argument})")
    assert (result.exit_code, result.stderr) == (status, message)


def test_a_raised_system_exit_without_instance_ends_well(sandbox):
    assert run(sandbox, "raise SystemExit").exit_code == 0


def test_an_abrupt_exit_keeps_its_status(sandbox):
    result = run(sandbox, "import os; print('lost'); os._exit(42)")
    assert (result.exit_code, result.stdout) == (42, b"")


def test_a_signal_is_told_apart_from_a_status(sandbox):
    result = run(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (result.signal, result.exit_code, result.limit) == (11, 139, "")


def test_a_crash_of_the_interpreter_is_a_result(sandbox):
    result = run(sandbox, "import ctypes; ctypes.string_at(0)")
    assert (result.signal, result.exit_code) == (11, 139)
    assert run(sandbox, "print('alive')").stdout == b"alive\n"


def test_a_traceback_shows_the_source_and_nothing_of_the_runner(sandbox):
    result = run(sandbox, "def f(x):\n    return 1 / x\n\nf(0)\n")
    text = result.stderr.decode()
    assert result.exit_code == 1
    assert text.startswith("Traceback (most recent call last):\n")
    assert "line 4, in <module>" in text
    assert "return 1 / x" in text
    assert text.endswith("ZeroDivisionError: division by zero\n")
    assert "guest" not in text
    assert "exec(" not in text


def test_a_syntax_error_is_shown_with_its_line(sandbox):
    result = run(sandbox, "x = 1\nif x\n    pass\n")
    text = result.stderr.decode()
    assert result.exit_code == 1
    assert "line 2" in text
    assert "if x" in text
    assert "SyntaxError: expected ':'" in text
    assert "guest" not in text


def test_a_null_byte_in_the_code_is_a_syntax_error(sandbox):
    result = run(sandbox, "x = 1\0")
    assert result.exit_code == 1
    assert b"null bytes" in result.stderr


def test_a_lone_surrogate_in_the_code_is_refused_with_its_place(sandbox):
    with pytest.raises(ValueError, match="lone surrogate at position 7"):
        run(sandbox, "print('\ud800')")
    assert run(sandbox, "print(1)").ok


def test_an_own_exception_hook_is_honoured(sandbox):
    code = "import sys\nsys.excepthook = lambda k, e, t: print('hook', k.__name__)\n1 / 0"
    result = run(sandbox, code)
    assert (result.stdout, result.exit_code) == (b"hook ZeroDivisionError\n", 1)


def test_chained_exceptions_are_shown(sandbox):
    code = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e"
    text = run(sandbox, code).stderr.decode()
    assert "direct cause" in text
    assert "KeyError: 'k'" in text


def test_an_exception_whose_text_fails_still_ends_with_status_one(sandbox):
    code = "class E(Exception):\n    def __str__(self): raise E()\nraise E()"
    result = run(sandbox, code)
    assert result.exit_code == 1
    assert b"E" in result.stderr


def test_exit_functions_run_in_reverse_order(sandbox):
    code = "import atexit\natexit.register(print, 'first')\natexit.register(print, 'second')\n1/0"
    assert run(sandbox, code).stdout == b"second\nfirst\n"


def test_threads_that_are_not_daemons_are_waited_for(sandbox):
    code = """
import threading, time
def late():
    time.sleep(0.2)
    print('late')
threading.Thread(target=late).start()
print('early')
"""
    assert run(sandbox, code).stdout == b"early\nlate\n"


def test_daemon_threads_are_not_waited_for(sandbox):
    code = """
import threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print('done')
"""
    result = run(sandbox, code)
    assert (result.stdout, result.limit, result.exit_code) == (b"done\n", "", 0)


def test_text_is_utf_8_whatever_the_host_speaks(sandbox):
    assert (
        run(sandbox, "print('grüße 漢字 🎉 \\x1b[31m')").stdout
        == "grüße 漢字 🎉 \x1b[31m\n".encode()
    )


def test_a_printed_surrogate_is_the_programs_own_error(sandbox):
    result = run(sandbox, "print('\\ud800')")
    assert result.exit_code == 1
    assert b"UnicodeEncodeError" in result.stderr


def test_output_that_is_no_text_comes_back_byte_by_byte(sandbox):
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)))"
    assert run(sandbox, code).stdout == bytes(range(256))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_too_much_output_keeps_head_and_tail_and_counts_the_rest(open_one, stream):
    sandbox = open_one(output_bytes=1001)
    code = f"import sys\nsys.{stream}.write('a' * 10_000 + 'b' * 100_000 + 'c' * 10_000)"
    result = run(sandbox, code)
    kept = getattr(result, stream)
    assert kept == b"a" * 501 + b"c" * 500
    assert getattr(result, f"{stream}_dropped") == 120_000 - 1001


def test_output_just_as_long_as_allowed_is_whole(open_one):
    sandbox = open_one(output_bytes=1000)
    result = run(sandbox, "print('x' * 999)")
    assert (len(result.stdout), result.stdout_dropped) == (1000, 0)
    result = run(sandbox, "print('x' * 1000)")
    assert (len(result.stdout), result.stdout_dropped) == (1000, 1)


def test_an_output_limit_of_one_byte_works(open_one):
    result = run(open_one(output_bytes=1), "print('abc')")
    assert (result.stdout, result.stdout_dropped) == (b"a", 3)


def test_what_was_printed_before_a_timeout_is_kept(open_one):
    sandbox = open_one(wall_seconds=0.3)
    result = run(sandbox, "import time\nprint('partial', flush=True)\ntime.sleep(1000)")
    assert (result.stdout, result.limit, result.signal) == (b"partial\n", "wall", 9)


def test_a_grandchild_that_holds_the_pipes_does_not_stall_the_end(sandbox):
    code = """
import subprocess
subprocess.Popen(['sleep', '1000'])
print('done')
"""
    result = run(sandbox, code)
    assert (result.stdout, result.limit) == (b"done\n", "")


def test_processes_that_left_the_session_die_with_the_program(sandbox):
    code = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        time.sleep(1000)
    os._exit(0)
os.wait()
print('done')
"""
    assert run(sandbox, code).stdout == b"done\n"
    assert run_sync(sandbox.stats()).processes == 1


def test_the_working_folder_is_the_workspace_and_importable(sandbox):
    run_sync(sandbox.write_file("mine.py", b"value = 5"))
    assert (
        run(sandbox, "import os, mine; print(os.getcwd(), mine.value)").stdout == b"/workspace 5\n"
    )


def test_nothing_of_one_run_is_left_in_the_interpreter_of_the_next(sandbox):
    run(
        sandbox,
        "import builtins, json, sys\nbuiltins.leak = 1\njson.loads = None\nsys.path.clear()",
    )
    code = "import builtins, json\nprint(hasattr(builtins, 'leak'), json.loads('[1]'))"
    assert run(sandbox, code).stdout == b"False [1]\n"


def test_files_of_one_run_are_there_in_the_next(sandbox):
    run(sandbox, "open('note', 'w').write('kept')")
    assert run(sandbox, "print(open('note').read())").stdout == b"kept\n"


def test_warm_modules_are_real_and_others_can_be_imported(sandbox):
    code = "import json, decimal, sqlite3, asyncio, multiprocessing\nprint('ok')"
    assert run(sandbox, code).stdout == b"ok\n"


def test_processes_and_pools_work_inside(sandbox):
    code = """
import multiprocessing, concurrent.futures
if __name__ == '__main__':
    context = multiprocessing.get_context('fork')
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        print(list(pool.map(abs, [-1, -2, -3])))
"""
    result = run(sandbox, code)
    assert (result.stdout, result.exit_code) == (b"[1, 2, 3]\n", 0), result.stderr


def test_asyncio_works_inside(sandbox):
    code = "import asyncio\nprint(asyncio.run(asyncio.sleep(0.01, 'slept')))"
    assert run(sandbox, code).stdout == b"slept\n"


def test_inspect_finds_the_source_of_the_main_module(sandbox):
    code = "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))"
    assert run(sandbox, code).stdout == b"def f():\n    return 1\n\n"


def test_dataclasses_pickles_and_futures_find_the_main_module(sandbox):
    code = """
from __future__ import annotations
import dataclasses, pickle, typing
@dataclasses.dataclass
class P:
    x: int
print(pickle.loads(pickle.dumps(P(3))), typing.get_type_hints(P))
"""
    assert run(sandbox, code).stdout == b"P(x=3) {'x': <class 'int'>}\n"


def test_used_time_and_memory_are_told(sandbox):
    code = "import time\nx = bytearray(50_000_000)\nend = time.process_time() + 0.2\n"
    result = run(sandbox, code + "while time.process_time() < end: pass")
    assert result.cpu_seconds >= 0.2
    assert result.wall_seconds >= 0.2
    assert result.peak_memory_bytes >= 50_000_000


def test_time_of_children_counts(sandbox):
    code = """
import os, time
if os.fork() == 0:
    while time.process_time() < 0.3: pass
    os._exit(0)
os.wait()
"""
    assert run(sandbox, code).cpu_seconds >= 0.3


def test_a_bad_result_can_be_turned_into_an_exception(open_one):
    sandbox = open_one(wall_seconds=0.2)
    assert run(sandbox, "pass").check().ok
    with pytest.raises(CommandFailedError, match="status 1: boom"):
        run(sandbox, "raise SystemExit('boom')").check()
    with pytest.raises(LimitExceededError, match="wall"):
        run(sandbox, "import time; time.sleep(100)").check()


def test_recursion_without_end_is_the_programs_own_error(sandbox):
    result = run(sandbox, "def f(): f()\nf()")
    assert result.exit_code == 1
    assert b"RecursionError" in result.stderr


def test_a_closed_standard_output_does_no_harm(sandbox):
    result = run(sandbox, "import os\nos.close(1)\nos.close(2)\nos.close(0)")
    assert result.limit == ""
    assert run(sandbox, "print(2)").stdout == b"2\n"


def test_empty_code_runs(sandbox):
    assert run(sandbox, "").ok


def test_a_megabyte_of_code_runs(sandbox):
    assert run(sandbox, "x = 1\n" * 150_000 + "print(x)").stdout == b"1\n"


def test_output_written_while_exiting_is_kept(sandbox):
    code = "import sys\nsys.stdout.write('x' * 300_000)\nsys.stdout.flush()"
    result = run(sandbox, code)
    assert len(result.stdout) + result.stdout_dropped == 300_000
