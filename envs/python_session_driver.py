"""The program inside a sandbox that keeps a candidate's variables from call to call.

It is shipped into sandboxes as source text, so it imports only the standard library, the codec and
the channel, which lie beside it there, and runs on Python 3.8. The candidate's code runs in this
process and may change anything in it: whatever leaves it is an observation, never a measurement.

Messages are encoded dictionaries. From the host: `{"code", "number", "cpu_seconds",
"wall_seconds", "output_bytes"}`. To the host, one for each: `{"number", "ok", "output",
"dropped", "cpu_seconds"}`.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import resource
import signal
import sys
import time
import traceback
import types
from typing import Any, NoReturn

OUTPUT_FILE = "/tmp/session-output"  # noqa: S108 - the sandbox's own
"""Where the output of the call under way goes, so that it outlives a call that is killed."""

_CPU_GRACE_SECONDS = 2


class CallLimitError(BaseException):
    """A call has used up its time. No `except Exception` stops it."""


def main() -> None:
    """Serve calls until the host sends no more."""
    # Only a sandbox has these two.
    import execgym_codec  # type: ignore[import-not-found]
    import sandbox_channel  # type: ignore[import-not-found]

    module = types.ModuleType("__main__")
    # What is pickled by reference or forked looks its names up here.
    sys.modules["__main__"] = module
    receive, send = sandbox_channel.receive, sandbox_channel.send
    encode, decode = execgym_codec.encode, execgym_codec.decode
    while True:
        data = receive()
        if data is None:
            os._exit(0)
        send(encode(_serve(module, decode(data))))


def _serve(module: types.ModuleType, request: dict[str, Any]) -> dict[str, Any]:
    output_fd = _redirect()
    started = time.process_time()
    ok = _run_in_time(module, request)
    for stream in (sys.stdout, sys.stderr):
        # The candidate may have put anything there.
        with contextlib.suppress(BaseException):
            stream.flush()
    output, dropped = _read_output(output_fd, request["output_bytes"])
    os.close(output_fd)
    return {
        "number": request["number"],
        "ok": ok,
        "output": output,
        "dropped": dropped,
        "cpu_seconds": time.process_time() - started,
    }


def _redirect() -> int:
    """Send both streams to a new file and return it: it never blocks its writer, unlike a pipe."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(OUTPUT_FILE)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    fd = os.open(OUTPUT_FILE, flags, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    for stream in (sys.__stdout__, sys.__stderr__):
        # Line by line, so that the two come out in the order in which they were written.
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return fd


def _read_output(fd: int, limit: int) -> tuple[bytes, int]:
    """Return the head and the tail of the output, and the number of bytes between them."""
    size = os.fstat(fd).st_size
    if size <= limit:
        return os.pread(fd, limit, 0), 0
    head = os.pread(fd, limit - limit // 2, 0)
    return head + os.pread(fd, limit // 2, size - limit // 2), size - limit


def _run_in_time(module: types.ModuleType, request: dict[str, Any]) -> bool:
    def on_cpu(number: int, frame: object) -> NoReturn:
        raise CallLimitError(f"the CPU limit of {request['cpu_seconds']:g} s a call was reached")

    def on_wall(number: int, frame: object) -> NoReturn:
        raise CallLimitError(f"the wall limit of {request['wall_seconds']:g} s a call was reached")

    signal.signal(signal.SIGPROF, on_cpu)
    signal.signal(signal.SIGALRM, on_wall)
    # Code that catches the exception is ended by the kernel a little later.
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time() + request["cpu_seconds"]) + _CPU_GRACE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))
    # A signal may come at any point up to the return from the inner block.
    try:
        try:
            # Again and again, should the code catch the first.
            signal.setitimer(signal.ITIMER_PROF, request["cpu_seconds"], 1.0)
            signal.setitimer(signal.ITIMER_REAL, request["wall_seconds"], 1.0)
            return _run(module, request["code"], f"<call {request['number']}>")
        finally:
            _stop_timers()
    except CallLimitError as error:
        _stop_timers()
        print(f"CallLimitError: {error}", file=sys.stderr)
        return False


def _stop_timers() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _run(module: types.ModuleType, code: str, name: str) -> bool:
    """Run the code, show the value of a last expression, and return whether nothing was raised."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        exec(compile(tree, name, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        if last is not None:
            value = eval(compile(last, name, "eval", dont_inherit=True), module.__dict__)  # noqa: S307
            if value is not None:
                module.__dict__["_"] = value
                print(repr(value))
    except SystemExit as error:
        return _took_exit(error)
    except BaseException as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_frame.f_code is _run.__code__:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)
        return False
    return True


def _took_exit(error: SystemExit) -> bool:
    """Print what an exit carries: it ends the call, and the session goes on."""
    if error.code is None or error.code == 0:
        return True
    print(f"SystemExit: {error.code}", file=sys.stderr)
    return False
