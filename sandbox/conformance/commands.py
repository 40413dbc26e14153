"""`run_command` runs a program of the image as a shell would."""

from __future__ import annotations

from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
)

GROUP = Group("commands")


@GROUP.case
async def working_folder(sandboxes: Sandboxes) -> None:
    """A program runs in `/workspace`."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_command(["pwd"])
        expect_equal((result.stdout, result.exit_code), (b"/workspace\n", 0), "pwd")


@GROUP.case
async def arguments(sandboxes: Sandboxes) -> None:
    """Arguments arrive as they are: no shell reads them."""
    async with sandboxes.shared() as sandbox:
        argv = ["printf", "%s|", "a b", "", "$HOME", "*", "-n", "é", "a\nb", ";id"]
        result = await sandbox.run_command(argv)
        expect_equal(result.stdout.decode(), "a b||$HOME|*|-n|é|a\nb|;id|", "the arguments")


@GROUP.case
async def missing_program(sandboxes: Sandboxes) -> None:
    """A program that is not there gives 127 and is named."""
    async with sandboxes.shared() as sandbox:
        for name in ("no-such-program", "/no/such/program", "./no-such-program"):
            result = await sandbox.run_command([name])
            expect_equal(result.exit_code, 127, f"the status of {name}")
            expect(name.encode() in result.stderr, f"{name} is not named: {result.stderr!r}")
        expect_equal((await sandbox.run_command([""])).exit_code, 127, "the status of ''")


@GROUP.case
async def not_executable(sandboxes: Sandboxes) -> None:
    """A file that cannot be executed gives 126, and so does a folder."""
    async with sandboxes.shared() as sandbox:
        await sandbox.write_file("plain-data", b"#!/bin/sh\n")
        for path in ("/workspace/plain-data", "./plain-data", "/workspace"):
            expect_equal((await sandbox.run_command([path])).exit_code, 126, path)


@GROUP.case
async def own_script(sandboxes: Sandboxes) -> None:
    """A script that was written into the workspace can be made executable and run."""
    async with sandboxes.shared() as sandbox:
        await sandbox.write_file("script", b"#!/bin/sh\necho ran $1\n")
        expect((await sandbox.run_command(["chmod", "+x", "script"])).ok, "chmod failed")
        expect_equal((await sandbox.run_command(["./script", "x"])).stdout, b"ran x\n", "output")


@GROUP.case
async def exit_codes(sandboxes: Sandboxes) -> None:
    """Every exit status comes back as it is, a signal with 128 more."""
    async with sandboxes.shared() as sandbox:
        for status in (0, 1, 2, 125, 126, 127, 128, 137, 255):
            result = await sandbox.run_command(["sh", "-c", f"exit {status}"])
            expect_equal((result.exit_code, result.signal), (status, 0), f"exit {status}")
        result = await sandbox.run_command(["sh", "-c", "kill -TERM $$"])
        expect_equal((result.exit_code, result.signal), (143, 15), "an end by SIGTERM")


@GROUP.case
async def standard_input(sandboxes: Sandboxes) -> None:
    """Standard input reaches the program whole; without any it is at its end."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_command(["wc", "-c"], stdin=b"a\0b" * 100_000)
        expect_equal(result.stdout.split(), [b"300000"], "the bytes counted")
        expect_equal((await sandbox.run_command(["cat"])).stdout, b"", "cat of nothing")
        result = await sandbox.run_command(["head", "-c", "3"], stdin=b"x" * 5_000_000)
        expect_equal((result.stdout, result.exit_code), (b"xxx", 0), "input closed early")


@GROUP.case
async def environment(sandboxes: Sandboxes) -> None:
    """Variables are added to the sandbox's own, and may replace the path."""
    async with sandboxes.shared() as sandbox:
        argv = ["sh", "-c", 'printf "%s|" "$MINE" "$EMPTY" "$HOME"']
        result = await sandbox.run_command(argv, env={"MINE": "é =\n", "EMPTY": ""})
        expect_equal(result.stdout.decode(), "é =\n||/workspace|", "the variables")
        result = await sandbox.run_command(["true"], env={"PATH": "/nowhere"})
        expect_equal(result.exit_code, 127, "the status with another PATH")
        result = await sandbox.run_command(argv)
        expect_equal(result.stdout, b"||/workspace|", "the variables of the next command")


@GROUP.case
async def impossible_arguments(sandboxes: Sandboxes) -> None:
    """What no command line can hold is the caller's `ValueError`, and harms nothing."""
    async with sandboxes.shared() as sandbox:
        for argv in ([], ["a\0b"], ["echo", "a\0b"], ["echo", "\ud800"], ["echo", "x" * 2_000_000]):
            with expect_raises(ValueError, f"a command of {len(argv)} parts that cannot be"):
                await sandbox.run_command(argv)
        for env in ({"A": "\0"}, {"A\0": ""}, {"\ud800": ""}, {"": "x"}, {"A=B": "x"}):
            with expect_raises(ValueError, f"the variable {env!r}"):
                await sandbox.run_command(["true"], env=env)
        expect((await sandbox.run_command(["true"])).ok, "the next command does not run")


@GROUP.case
async def argument_too_long(sandboxes: Sandboxes) -> None:
    """An argument longer than the kernel takes is the command's failure."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_command(["echo", "x" * 300_000])
        expect_equal(result.exit_code, 126, "the status")
        expect(b"too long" in result.stderr.lower(), f"stderr says {result.stderr[:200]!r}")


@GROUP.case
async def background_jobs(sandboxes: Sandboxes) -> None:
    """Background jobs end with the command, those in other sessions, too."""
    async with sandboxes.shared() as sandbox:
        script = "sleep 1000 & setsid sleep 1000 & echo started"
        result = await sandbox.run_command(["sh", "-c", script])
        expect_equal((result.stdout, result.limit), (b"started\n", ""), "(stdout, limit)")
        expect_equal((await sandbox.stats()).processes, 1, "the number of processes")


@GROUP.case
async def pipelines(sandboxes: Sandboxes) -> None:
    """A broken pipe ends the writer, and common programs work."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_command(["sh", "-c", "yes | head -n 1"])
        expect_equal((result.stdout, result.exit_code), (b"y\n", 0), "yes | head")
        script = "printf 'b\\na\\n' > x; sort x | tr a-z A-Z; ls x; rm x; hostname"
        result = await sandbox.run_command(["sh", "-c", script])
        expect_equal(result.stdout, b"A\nB\nx\nsandbox\n", "the output")


@GROUP.case
async def python_as_a_command(sandboxes: Sandboxes) -> None:
    """`python3` is on the path, and its own `sys.executable` is, too."""
    async with sandboxes.shared() as sandbox:
        code = "import subprocess, sys; print(6 * 7, flush=True); "
        code += "subprocess.run([sys.executable, '-c', 'print(6 * 8)'], check=True)"
        result = await sandbox.run_command(["python3", "-c", code])
        expect_equal((result.stdout, result.exit_code), (b"42\n48\n", 0), "(stdout, status)")
