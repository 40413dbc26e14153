"""The shared loop, for callers that are not asynchronous."""

import asyncio
import os
import threading

import pytest

from execgym.sandbox import SandboxSpec, open_sandbox, run_sync, shared_loop


async def give(value):
    await asyncio.sleep(0)
    return value


def test_there_is_one_loop():
    assert shared_loop() is shared_loop()
    assert shared_loop().is_running()


def test_results_and_exceptions_come_back():
    assert run_sync(give(3)) == 3

    async def fail():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run_sync(fail())


def test_it_works_while_another_loop_runs_in_the_thread():
    async def notebook_cell():
        return run_sync(give(4))

    assert asyncio.run(notebook_cell()) == 4


def test_on_the_loop_itself_it_is_an_error_and_no_deadlock():
    async def wrong():
        return run_sync(give(5))

    with pytest.raises(RuntimeError, match="await the async one"):
        run_sync(wrong())


def test_many_threads_may_call_at_once():
    results = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(run_sync(give(n)))) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(20))


def test_a_fork_has_a_loop_of_its_own():
    shared_loop()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_end, b"%d" % run_sync(give(6)))
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == b"6"
    os.waitpid(pid, 0)
    assert run_sync(give(7)) == 7


def test_a_sandbox_opened_on_the_shared_loop_is_used_from_any_thread():
    sandbox = run_sync(open_sandbox(SandboxSpec()))
    results = []
    thread = threading.Thread(
        target=lambda: results.append(run_sync(sandbox.run_python("print(1)")).stdout)
    )
    thread.start()
    thread.join()
    run_sync(sandbox.close())
    assert results == [b"1\n"]
