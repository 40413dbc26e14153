"""`run_python` is what `python main.py` would be, in a sandbox."""

from __future__ import annotations

import zlib

from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
)

GROUP = Group("python")


async def _prints(sandboxes: Sandboxes, code: str, wanted: bytes) -> None:
    """Check that code ends well and prints just this."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code)
        told = result.stdout, result.exit_code, result.limit
        expect_equal(told, (wanted, 0, ""), f"(stdout, status, limit), stderr {result.stderr!r},")


@GROUP.case
async def output_and_status(sandboxes: Sandboxes) -> None:
    """Standard output, standard error and the exit status come back apart."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(
            "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
        )
        told = result.stdout, result.stderr, result.exit_code, result.signal, result.limit
        expect_equal(told, (b"out\n", b"err\n", 3, 0, ""), "the result")
        expect(not result.ok, "a status of 3 is called ok")


@GROUP.case
async def main_module(sandboxes: Sandboxes) -> None:
    """The code is the module `__main__`, where pickle, dataclasses and inspect find it."""
    code = """
import dataclasses, inspect, pickle, sys
import __main__
@dataclasses.dataclass
class Point:
    x: int
def function():
    return 1
print(__name__, sys.modules['__main__'] is __main__, __main__.function is function)
print(pickle.loads(pickle.dumps(Point(3))), repr(inspect.getsource(function)))
"""
    wanted = b"__main__ True True\nPoint(x=3) 'def function():\\n    return 1\\n'\n"
    await _prints(sandboxes, code, wanted)


@GROUP.case
async def main_module_is_clean(sandboxes: Sandboxes) -> None:
    """The main module holds no name of the backend's runner."""
    code = "print(sorted(name for name in globals() if not name.startswith('__')))"
    await _prints(sandboxes, code, b"[]\n")


@GROUP.case
async def arguments(sandboxes: Sandboxes) -> None:
    """`argv` follows the script's name, byte for byte."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(
            "import sys; print(sys.argv[1:])", argv=["a b", "", "--x", "é\n*"]
        )
        expect_equal(result.stdout.decode(), "['a b', '', '--x', 'é\\n*']\n", "sys.argv")


@GROUP.case
async def standard_input(sandboxes: Sandboxes) -> None:
    """Standard input is read to its end, whatever bytes it holds."""
    data = bytes(range(256)) * 4096
    code = "import sys, zlib; d = sys.stdin.buffer.read(); print(len(d), zlib.crc32(d))"
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code, stdin=data)
        expect_equal(result.stdout, b"%d %d\n" % (len(data), zlib.crc32(data)), "size and sum")


@GROUP.case
async def large_standard_input(sandboxes: Sandboxes) -> None:
    """Standard input of 16 MiB arrives whole."""
    code = "import sys, zlib; d = sys.stdin.buffer.read(); print(len(d), zlib.crc32(d))"
    data = bytes(range(251)) * (16 * 1024 * 1024 // 251)
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code, stdin=data)
        expect_equal(result.stdout, b"%d %d\n" % (len(data), zlib.crc32(data)), "size and sum")


@GROUP.case
async def no_standard_input(sandboxes: Sandboxes) -> None:
    """Without input, standard input is at its end and `input()` says so."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("import sys; print(repr(sys.stdin.read()))\ninput()")
        expect_equal((result.stdout, result.exit_code), (b"''\n", 1), "(stdout, status)")
        expect(b"EOFError" in result.stderr, f"no EOFError in {result.stderr!r}")


@GROUP.case
async def unread_standard_input(sandboxes: Sandboxes) -> None:
    """Input that nobody reads, and input that is closed early, hold nothing up."""
    async with sandboxes.shared() as sandbox:
        for code in ("print('done')", "import os\nos.read(0, 10)\nos.close(0)\nprint('done')"):
            result = await sandbox.run_python(code, stdin=b"x" * 5_000_000)
            expect_equal((result.stdout, result.exit_code), (b"done\n", 0), f"{code!r}: result")


@GROUP.case
async def forms_of_exit(sandboxes: Sandboxes) -> None:
    """Each kind of `SystemExit` gives the status and the message that the interpreter gives."""
    forms = (
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
    )
    async with sandboxes.shared() as sandbox:
        for argument, status, message in forms:
            result = await sandbox.run_python(f"import sys; sys.exit({argument})")
            told = result.exit_code, result.stderr, result.signal
            expect_equal(told, (status, message, 0), f"sys.exit({argument})")
        result = await sandbox.run_python("raise SystemExit")
        expect_equal(result.exit_code, 0, "the status of `raise SystemExit`")


@GROUP.case
async def abrupt_exit(sandboxes: Sandboxes) -> None:
    """`os._exit` gives its status, and what was not flushed is lost."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("import os; print('lost'); os._exit(42)")
        expect_equal((result.exit_code, result.stdout), (42, b""), "(status, stdout)")


@GROUP.case
async def signals(sandboxes: Sandboxes) -> None:
    """An end by a signal is told as such: the status is 128 more, and it is no limit."""
    async with sandboxes.shared() as sandbox:
        for number in (6, 9, 11, 15, 31):
            result = await sandbox.run_python(f"import os; os.kill(os.getpid(), {number})")
            told = result.signal, result.exit_code, result.limit
            expect_equal(told, (number, 128 + number, ""), f"an end by signal {number}")


@GROUP.case
async def crash(sandboxes: Sandboxes) -> None:
    """A crash of the interpreter is a result, and the next program runs."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("import ctypes; ctypes.string_at(0)")
        expect_equal((result.signal, result.exit_code), (11, 139), "(signal, status)")
        expect_equal((await sandbox.run_python("print(1)")).stdout, b"1\n", "the next output")


@GROUP.case
async def traceback(sandboxes: Sandboxes) -> None:
    """An unhandled exception gives status 1 and a traceback of the code's own lines only."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("def f(x):\n    return 1 / x\n\nf(0)\n")
        text = result.stderr.decode()
        expect_equal(result.exit_code, 1, "the status")
        expect(text.startswith("Traceback (most recent call last):\n"), text)
        expect("line 4, in <module>" in text and "return 1 / x" in text, text)
        expect(text.endswith("ZeroDivisionError: division by zero\n"), text)
        expect_equal(text.count("  File "), 2, f"the number of frames in {text!r}")


@GROUP.case
async def syntax_error(sandboxes: Sandboxes) -> None:
    """Code that does not compile gives status 1 and is shown with its line."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("x = 1\nif x\n    pass\n")
        text = result.stderr.decode()
        expect_equal(result.exit_code, 1, "the status")
        expect("line 2" in text and "if x" in text and "SyntaxError" in text, text)
        result = await sandbox.run_python("x = 1\0")
        expect_equal(result.exit_code, 1, "the status of code with a NUL")
        expect(b"null byte" in result.stderr, f"no word of null bytes in {result.stderr!r}")


@GROUP.case
async def code_that_is_no_text(sandboxes: Sandboxes) -> None:
    """A lone surrogate in the code is the caller's `ValueError`, and harms nothing."""
    async with sandboxes.shared() as sandbox:
        with expect_raises(ValueError, "code with a lone surrogate"):
            await sandbox.run_python("print('\ud800')")
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def exception_hook(sandboxes: Sandboxes) -> None:
    """A program's own `sys.excepthook` is honoured."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(
            "import sys\nsys.excepthook = lambda kind, *_: print('hook', kind.__name__)\n1 / 0"
        )
        told = result.stdout, result.exit_code
        expect_equal(told, (b"hook ZeroDivisionError\n", 1), "(stdout, status)")


@GROUP.case
async def chained_exceptions(sandboxes: Sandboxes) -> None:
    """A chained exception is shown with its cause."""
    code = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e"
    async with sandboxes.shared() as sandbox:
        text = (await sandbox.run_python(code)).stderr.decode()
        expect("direct cause" in text and "KeyError: 'k'" in text, text)


@GROUP.case
async def endless_recursion(sandboxes: Sandboxes) -> None:
    """Recursion without end is the program's own error."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("def f(): f()\nf()")
        expect_equal((result.exit_code, result.signal), (1, 0), "(status, signal)")
        expect(b"RecursionError" in result.stderr, "no RecursionError is told")


@GROUP.case
async def exit_functions(sandboxes: Sandboxes) -> None:
    """`atexit` functions run in reverse order, after an exception, too."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(
            "import atexit\nfor name in 'ab': atexit.register(print, name)\n1 / 0"
        )
        expect_equal((result.stdout, result.exit_code), (b"b\na\n", 1), "(stdout, status)")


@GROUP.case
async def threads_are_joined(sandboxes: Sandboxes) -> None:
    """Threads are waited for before the end, daemon threads are not."""
    code = """
import threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
def late():
    time.sleep(0.2)
    print('late')
threading.Thread(target=late).start()
print('early')
"""
    await _prints(sandboxes, code, b"early\nlate\n")


@GROUP.case
async def files_left_open_are_written(sandboxes: Sandboxes) -> None:
    """What a program leaves in a file that it did not close is written at its end."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("f = open('left-open', 'w'); f.write('all of it')")
        expect(result.ok, f"the program failed: {result.stderr!r}")
        expect_equal(await sandbox.read_file("left-open"), b"all of it", "the file")


@GROUP.case
async def output_at_the_end(sandboxes: Sandboxes) -> None:
    """Output that fills the pipe while the program ends is kept or counted, to the byte."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("import sys\nsys.stdout.write('x' * 300_000)")
        expect_equal(len(result.stdout) + result.stdout_dropped, 300_000, "kept and dropped")


@GROUP.case
async def text_is_utf_8(sandboxes: Sandboxes) -> None:
    """Text is UTF-8 everywhere: code, output, file names, file contents, environment."""
    code = """
import os, sys
open('grüße 漢字 🎉', 'w').write('naïve')
print(open('grüße 漢字 🎉').read(), sys.stdout.encoding, sys.getfilesystemencoding())
print('漢🎉\\x1b[0m')
os.remove('grüße 漢字 🎉')
"""
    await _prints(sandboxes, code, "naïve utf-8 utf-8\n漢🎉\x1b[0m\n".encode())


@GROUP.case
async def bytes_are_bytes(sandboxes: Sandboxes) -> None:
    """Output that is no text comes back byte by byte."""
    code = "import sys\nsys.stdout.buffer.write(bytes(range(256)))"
    await _prints(sandboxes, code, bytes(range(256)))


@GROUP.case
async def printed_surrogate(sandboxes: Sandboxes) -> None:
    """Printing a lone surrogate is the program's own error."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("print('\\ud800')")
        expect_equal(result.exit_code, 1, "the status")
        expect(b"UnicodeEncodeError" in result.stderr, "no UnicodeEncodeError is told")


@GROUP.case
async def working_folder(sandboxes: Sandboxes) -> None:
    """The working folder is `/workspace`, and what lies in it can be imported."""
    async with sandboxes.shared() as sandbox:
        await sandbox.write_file("own_module.py", b"value = 5")
        result = await sandbox.run_python(
            "import os, own_module; print(os.getcwd(), own_module.value)"
        )
        expect_equal(result.stdout, b"/workspace 5\n", "the folder and the value")


@GROUP.case
async def interpreter_is_new_each_time(sandboxes: Sandboxes) -> None:
    """What a program does to its interpreter is gone in the next program."""
    async with sandboxes.shared() as sandbox:
        await sandbox.run_python(
            "import builtins, json, os, sys\nbuiltins.leak = 1\njson.loads = None\n"
            "sys.path.clear()\nos.environ['LEAK'] = '1'\nos.chdir('/')\nos.umask(0)"
        )
        result = await sandbox.run_python(
            "import builtins, json, os\nprint(hasattr(builtins, 'leak'), json.loads('[1]'), "
            "'LEAK' in os.environ, os.getcwd(), oct(os.umask(0)))"
        )
        expect_equal(result.stdout, b"False [1] False /workspace 0o22\n", "the state")


@GROUP.case
async def standard_library(sandboxes: Sandboxes) -> None:
    """The whole standard library is there, compiled parts included."""
    code = (
        "import asyncio, bz2, ctypes, decimal, hashlib, json, lzma, multiprocessing, socket, "
        "sqlite3, ssl, unittest, xml.etree.ElementTree, zlib, zoneinfo\nprint('ok')"
    )
    await _prints(sandboxes, code, b"ok\n")


@GROUP.case
async def child_processes(sandboxes: Sandboxes) -> None:
    """Subprocesses, process pools and asyncio work."""
    code = """
import asyncio, concurrent.futures, multiprocessing, subprocess
print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout, end='')
context = multiprocessing.get_context('fork')
with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
    print(list(pool.map(abs, [-1, -2, -3])))
print(asyncio.run(asyncio.sleep(0.01, 'slept')))
"""
    await _prints(sandboxes, code, b"child\n[1, 2, 3]\nslept\n")


@GROUP.case
async def own_loopback(sandboxes: Sandboxes) -> None:
    """A program can talk to itself over 127.0.0.1."""
    code = """
import socket
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
client.sendall(b'hi')
print(peer.recv(2))
"""
    await _prints(sandboxes, code, b"b'hi'\n")


@GROUP.case
async def usage(sandboxes: Sandboxes) -> None:
    """CPU time with that of children, wall time and peak memory are told."""
    code = """
import os, time
x = bytearray(50_000_000)
if os.fork() == 0:
    while time.process_time() < 0.2: pass
    os._exit(0)
os.wait()
"""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code)
        expect(result.ok, f"the program failed: {result.stderr!r}")
        expect(0.2 <= result.cpu_seconds < 5, f"{result.cpu_seconds} CPU seconds for 0.2")
        expect(result.wall_seconds >= 0.2, f"{result.wall_seconds} wall seconds for 0.2")
        expect(
            50_000_000 <= result.peak_memory_bytes < 500_000_000,
            f"a peak of {result.peak_memory_bytes} bytes for 50 MB",
        )


@GROUP.case
async def lengths_of_code(sandboxes: Sandboxes) -> None:
    """Empty code runs, and so does a megabyte of it."""
    async with sandboxes.shared() as sandbox:
        expect((await sandbox.run_python("")).ok, "empty code does not run")
        result = await sandbox.run_python("x = 1\n" * 150_000 + "print(x)")
        expect_equal(result.stdout, b"1\n", "the output of long code")


@GROUP.case
async def closed_streams(sandboxes: Sandboxes) -> None:
    """A program that closes its own streams ends by itself."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python("import os\nfor fd in (0, 1, 2): os.close(fd)")
        expect_equal((result.limit, result.signal), ("", 0), "(limit, signal)")
        expect_equal((await sandbox.run_python("print(2)")).stdout, b"2\n", "the next output")
