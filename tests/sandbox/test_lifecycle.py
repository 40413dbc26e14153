"""From opening to closing, and what is left when either side goes away."""

import asyncio
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

from execgym.sandbox import (
    Limits,
    SandboxDiedError,
    SandboxSpec,
    SandboxUnavailableError,
    Template,
    TemplateError,
    close_zygotes,
    namespace,
    open_sandbox,
    run_sync,
)

SPEC = SandboxSpec()
ALONE = Template(modules=("colorsys",))
"""A template that no other test uses, for tests that kill its zygote."""


def children_of(pid):
    found = set()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit():
                text = pathlib.Path(f"/proc/{name}/stat").read_text()
                in_use = "(sandbox)" in text
                if in_use and int(text.rpartition(")")[2].split()[1]) == pid:
                    found.add(int(name))
    return found


async def children_in_use(pid, count):
    """Return a zygote's sandboxes once those of earlier tests, which are killed, are gone."""
    async with asyncio.timeout(20):
        while len(found := children_of(pid)) > count:
            await asyncio.sleep(0.01)
    return found


def zygote_of(template):
    return namespace._registry.get(template)._process.pid


async def until_it_dies(sandbox):
    while True:
        await sandbox.stats()


def test_closing_leaves_no_process(eventually):
    async def main():
        sandbox = await open_sandbox(SandboxSpec(template=ALONE))
        process = await sandbox.start_python("import os\nos.fork()\nimport time\ntime.sleep(1000)")
        zygote = zygote_of(ALONE)
        inits = await children_in_use(zygote, 1)
        assert len(inits) == 1
        await sandbox.close()
        with pytest.raises(SandboxDiedError):
            await process.wait()
        return zygote

    zygote = run_sync(main())
    eventually(lambda: not children_of(zygote))


def test_closing_twice_is_fine():
    async def main():
        sandbox = await open_sandbox(SPEC)
        await sandbox.close()
        await sandbox.close()

    run_sync(main())


def test_a_closed_sandbox_says_so_to_every_call():
    async def main():
        sandbox = await open_sandbox(SPEC)
        await sandbox.close()
        for call in (
            sandbox.run_python("pass"),
            sandbox.run_command(["true"]),
            sandbox.start_python("pass"),
            sandbox.read_file("a"),
            sandbox.write_file("a", b""),
            sandbox.list_files(),
            sandbox.freeze(),
            sandbox.stats(),
        ):
            with pytest.raises(SandboxDiedError, match="closed"):
                await call

    run_sync(main())


def test_leaving_the_context_closes():
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            assert sandbox.spec == SPEC
        with pytest.raises(SandboxDiedError):
            await sandbox.stats()

    run_sync(main())


def test_a_cancelled_call_closes_the_sandbox(eventually):
    async def main():
        sandbox = await open_sandbox(SandboxSpec(template=ALONE))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await sandbox.run_python("import time\ntime.sleep(1000)")
        with pytest.raises(SandboxDiedError, match="cancelled"):
            await sandbox.run_python("pass")

    run_sync(main())
    eventually(lambda: not children_of(zygote_of(ALONE)))


@pytest.mark.parametrize("call", ["receive", "wait"])
def test_a_cancelled_wait_for_a_started_program_can_be_made_again(call):
    async def main():
        sandbox = await open_sandbox(SandboxSpec(template=ALONE))
        program = await sandbox.start_python("import time\ntime.sleep(1000)")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await getattr(program, call)()
        assert (await program.kill()).signal == signal.SIGKILL
        assert (await sandbox.run_python("print(1)")).stdout == b"1\n"
        await sandbox.close()

    run_sync(main())


def test_a_cancelled_opening_leaves_nothing(eventually):
    async def main():
        await (await open_sandbox(SandboxSpec(template=ALONE))).close()
        for _ in range(10):
            opening = asyncio.create_task(open_sandbox(SandboxSpec(template=ALONE)))
            for _ in range(2):
                await asyncio.sleep(0)
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await opening).close()

    run_sync(main())
    eventually(lambda: not children_of(zygote_of(ALONE)))


def test_one_call_at_a_time():
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            first = asyncio.create_task(
                sandbox.run_python("import time\ntime.sleep(0.2)\nprint(1)")
            )
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="one call at a time"):
                await sandbox.run_python("print(2)")
            assert (await first).stdout == b"1\n"
            assert (await sandbox.run_python("print(3)")).stdout == b"3\n"

    run_sync(main())


def test_many_sandboxes_live_side_by_side():
    async def one(number):
        async with await open_sandbox(SPEC) as sandbox:
            await sandbox.write_file("number", str(number).encode())
            result = await sandbox.run_python("print(open('number').read())")
            assert result.stdout == f"{number}\n".encode()
            assert (await sandbox.stats()).processes == 1

    async def main():
        await asyncio.gather(*(one(number) for number in range(40)))

    run_sync(main())


def test_statistics_tell_what_is_used(sandbox):
    before = run_sync(sandbox.stats())
    run_sync(sandbox.write_file("a", bytes(1_000_000)))
    after = run_sync(sandbox.stats())
    assert before.processes == after.processes == 1
    assert before.memory_bytes > 0
    assert 1_000_000 <= after.workspace_bytes - before.workspace_bytes < 1_100_000
    assert after.workspace_inodes == before.workspace_inodes + 1


def test_freezing_ends_everything_and_keeps_the_files(sandbox):
    run_sync(sandbox.write_file("a", b"kept"))
    run_sync(sandbox.freeze())
    run_sync(sandbox.freeze())
    assert run_sync(sandbox.stats()).processes == 1
    assert run_sync(sandbox.read_file("a")) == b"kept"


def test_a_killed_zygote_takes_its_sandboxes_with_it_and_is_replaced(eventually):
    async def main():
        spec = SandboxSpec(template=ALONE)
        idle, busy = await open_sandbox(spec), await open_sandbox(spec)
        running = asyncio.create_task(busy.run_python("import time\ntime.sleep(1000)"))
        await asyncio.sleep(0)
        zygote = zygote_of(ALONE)
        inits = await children_in_use(zygote, 2)
        assert len(inits) == 2
        os.kill(zygote, signal.SIGKILL)
        with pytest.raises(SandboxDiedError):
            await running
        with pytest.raises(SandboxDiedError):
            await until_it_dies(idle)
        async with await open_sandbox(spec) as again:
            assert (await again.run_python("print(1)")).ok
        assert zygote_of(ALONE) != zygote
        await idle.close()
        await busy.close()
        return inits

    inits = run_sync(main())
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inits))


def test_a_zygote_killed_while_many_open_is_replaced_for_all():
    async def open_one(spec):
        async with await open_sandbox(spec) as sandbox:
            return await sandbox.run_python("print(1)")

    async def main():
        spec = SandboxSpec(template=ALONE)
        await (await open_sandbox(spec)).close()
        os.kill(zygote_of(ALONE), signal.SIGKILL)
        results = await asyncio.gather(*(open_one(spec) for _ in range(20)))
        assert all(result.ok for result in results)

    run_sync(main())


def test_a_killed_first_process_is_a_death(eventually):
    async def main():
        async with await open_sandbox(SandboxSpec(template=ALONE)) as sandbox:
            (init,) = await children_in_use(zygote_of(ALONE), 1)
            running = asyncio.create_task(sandbox.run_python("import time\ntime.sleep(1000)"))
            await asyncio.sleep(0)
            os.kill(init, signal.SIGKILL)
            with pytest.raises(SandboxDiedError):
                await running
        async with await open_sandbox(SandboxSpec(template=ALONE)) as sandbox:
            assert (await sandbox.run_python("print(1)")).ok

    run_sync(main())


def test_a_module_that_is_missing_is_named():
    template = Template(modules=("json", "no_such_module_anywhere"))
    with pytest.raises(TemplateError, match="no_such_module_anywhere"):
        run_sync(open_sandbox(SandboxSpec(template=template)))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        (
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
            "threads",
        ),
    ],
)
def test_a_source_that_cannot_be_loaded_is_a_template_error(source, reason):
    template = Template(sources=(("broken_source", source),))
    with pytest.raises(TemplateError, match=reason):
        run_sync(open_sandbox(SandboxSpec(template=template)))


def test_a_source_that_ends_the_process_does_not_hang():
    template = Template(sources=(("ender", "import os\nos.write(2, b'last words')\nos._exit(3)"),))
    with pytest.raises((TemplateError, SandboxUnavailableError), match="last words"):
        run_sync(open_sandbox(SandboxSpec(template=template)))


def test_a_source_that_floods_its_output_loads():
    source = "import os\nfor _ in range(100): os.write(2, bytes(10_000))\nvalue = 7"
    template = Template(sources=(("noisy", source),))

    async def main():
        async with await open_sandbox(SandboxSpec(template=template)) as sandbox:
            return await sandbox.run_python("import noisy\nprint(noisy.value)")

    assert run_sync(main()).stdout == b"7\n"


def test_sources_and_modules_are_warm_and_fresh_in_each_run():
    source = "import colorsys\nstate = []"
    template = Template(modules=("colorsys",), sources=(("state_of_template", source),))

    async def main():
        async with await open_sandbox(SandboxSpec(template=template)) as sandbox:
            code = "import sys, state_of_template as s\ns.state.append(1)\nprint(s.state)"
            assert (await sandbox.run_python(code)).stdout == b"[1]\n"
            assert (await sandbox.run_python(code)).stdout == b"[1]\n"
            code = "import sys\nprint('colorsys' in sys.modules)"
            assert (await sandbox.run_python(code)).stdout == b"True\n"

    run_sync(main())


@pytest.mark.parametrize(
    "name", ["", "a b", "../x", "os;import sys", "a..b", ".a", "1a", "a.", "é\0"]
)
def test_a_name_that_is_no_module_is_refused(name):
    with pytest.raises(TemplateError, match="not a dotted module name"):
        Template(modules=(name,))
    with pytest.raises(TemplateError, match="not a dotted module name"):
        Template(sources=((name, ""),))


@pytest.mark.parametrize("image", ["no/such", "/no/such/folder", "/etc/passwd", "", "ubuntu:24.04"])
def test_an_image_that_is_no_folder_is_a_template_error(image):
    with pytest.raises(TemplateError, match="image"):
        run_sync(open_sandbox(SandboxSpec(template=Template(image=image))))


def test_an_image_without_python_is_a_template_error(tmp_path):
    with pytest.raises(TemplateError, match="python3"):
        run_sync(open_sandbox(SandboxSpec(template=Template(image=str(tmp_path)))))


def test_the_hosts_root_serves_as_an_image():
    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("no system Python")

    async def main():
        spec = SandboxSpec(template=Template(image="/"))
        async with await open_sandbox(spec) as sandbox:
            return await sandbox.run_python("import sys\nprint(sys.executable)")

    assert run_sync(main()).stdout.startswith((b"/usr/bin/python3", b"/usr/local/bin/python3"))


def test_an_unknown_backend_is_refused_by_name():
    with pytest.raises(ValueError, match="'chroot' is not one of auto, namespace, docker"):
        SandboxSpec(backend="chroot")


def test_limits_must_be_limits():
    with pytest.raises(TypeError):
        Limits(cores=3)


def test_two_event_loops_open_sandboxes_of_one_zygote():
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            return await sandbox.run_python("print(1)")

    results = []
    threads = [
        threading.Thread(target=lambda: results.append(asyncio.run(main()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.stdout for result in results] == [b"1\n"] * 4
    assert asyncio.run(main()).ok


def test_threads_that_open_the_first_sandbox_at_once_share_a_zygote():
    template = Template(modules=("colorsys", "chunk"))

    async def main():
        async with await open_sandbox(SandboxSpec(template=template)):
            return zygote_of(template)

    zygotes = []
    threads = [threading.Thread(target=lambda: zygotes.append(run_sync(main()))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(zygotes) == 5
    assert len(set(zygotes)) == 1


PROGRAM = """
import asyncio, os, sys
from execgym.sandbox import SandboxSpec, close_zygotes, namespace, open_sandbox, run_sync
{body}
"""


def host(body):
    """Run a host program of its own, with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(body=body)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd="/",
    )


def test_a_host_program_ends_without_a_word_and_without_closing():
    result = host("sandbox = run_sync(open_sandbox(SandboxSpec()))\nprint('end')")
    assert (result.stdout, result.stderr, result.returncode) == ("end\n", "", 0)


def mounts_here():
    # A Docker daemon mounts and unmounts what other tests make it run meanwhile.
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if "docker" not in line]


def test_a_host_programs_end_leaves_no_process_and_no_mount(eventually):
    mounts = mounts_here()
    body = """
sandboxes = [run_sync(open_sandbox(SandboxSpec())) for _ in range(20)]
running = [run_sync(each.start_python('import time\\ntime.sleep(1000)')) for each in sandboxes]
zygote = namespace._registry.get(SandboxSpec().template)._process.pid
with open(f'/proc/{zygote}/task/{zygote}/children') as file:
    print(zygote, file.read())
"""
    result = host(body)
    assert result.stderr == ""
    processes = result.stdout.split()
    # The zygote, its sandboxes, and at most one that it has ready for the next.
    assert len(processes) in (21, 22)
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in processes))
    assert mounts_here() == mounts


def test_asyncio_run_needs_no_goodbye():
    body = """
async def main():
    sandbox = await open_sandbox(SandboxSpec())
    print((await sandbox.run_python('print(1)')).stdout)
    await sandbox.close()
asyncio.run(main())
asyncio.run(main())
"""
    result = host(body)
    assert (result.stdout, result.stderr) == ("b'1\\n'\nb'1\\n'\n", "")


def test_a_fork_of_the_host_has_sandboxes_of_its_own():
    body = """
sandbox = run_sync(open_sandbox(SandboxSpec()))
pid = os.fork()
own = run_sync(open_sandbox(SandboxSpec()))
assert run_sync(own.run_python('print(1)')).ok
if pid == 0:
    close_zygotes()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert run_sync(sandbox.run_python('print(2)')).ok
print('fine')
"""
    result = host(body)
    assert (result.stdout, result.stderr) == ("fine\n", "")


def test_a_fork_that_lives_on_keeps_no_sandbox_of_its_parent():
    body = """
import time
sandbox = run_sync(open_sandbox(SandboxSpec()))
zygote = namespace._registry.get(SandboxSpec().template)._process.pid
with open(f'/proc/{zygote}/task/{zygote}/children') as file:
    children = file.read().split()
assert len(children) == 1
pid = os.fork()
if pid == 0:
    time.sleep(1000)
run_sync(sandbox.close())
deadline = time.monotonic() + 20
while os.path.exists('/proc/' + children[0]):
    assert time.monotonic() < deadline
    time.sleep(0.01)
start = time.monotonic()
close_zygotes()
assert not os.path.exists(f'/proc/{zygote}')
os.kill(pid, 9)
os.waitpid(pid, 0)
print('fine', time.monotonic() - start < 4)
"""
    result = host(body)
    assert (result.stdout, result.stderr) == ("fine True\n", "")


def test_closing_the_zygotes_ends_every_sandbox_and_a_new_one_opens():
    body = """
sandbox = run_sync(open_sandbox(SandboxSpec()))
close_zygotes()
try:
    while True:
        run_sync(sandbox.stats())
except Exception as error:
    print(type(error).__name__)
again = run_sync(open_sandbox(SandboxSpec()))
print(run_sync(again.run_python('print(1)')).ok)
close_zygotes()
close_zygotes()
"""
    result = host(body)
    assert (result.stdout, result.stderr) == ("SandboxDiedError\nTrue\n", "")


def test_closing_zygotes_when_there_are_none_is_fine():
    assert host("close_zygotes()\nclose_zygotes()").stderr == ""
    assert callable(close_zygotes)


class Immortal:
    """A process that the kernel does not let go of."""

    def __init__(self):
        self.killed = False

    def wait(self, timeout=None):
        assert timeout is not None, "a wait without an end"
        raise subprocess.TimeoutExpired("zygote", timeout)

    def kill(self):
        self.killed = True


def test_a_zygote_that_no_kill_ends_is_left_after_a_bounded_time(open_one):
    open_one(SandboxSpec(template=ALONE, backend="namespace"))
    zygote = namespace._registry.get(ALONE)
    real, zygote._process = zygote._process, Immortal()
    namespace._registry.forget(ALONE, zygote)
    assert zygote._process.killed
    real.wait(timeout=20)
