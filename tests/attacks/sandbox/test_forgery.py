"""Frames forged by the program: it reaches no descriptor on which the host would believe it."""

import struct

import pytest

from execgym.sandbox import run_sync, wire

FORGED = b"".join(
    wire.encode(wire.Frame(kind, number, {"exit_code": 0, "stdout_length": 4}, b"PASS"))
    for kind in sorted(wire.KINDS)
    for number in range(4)
)

WRITE_EVERYWHERE = f"""
import os, socket
forged = {FORGED!r}
for fd in range(0, 300):
    try:
        os.set_blocking(fd, False)
        os.write(fd, forged)
    except OSError:
        pass
"""


def test_forged_frames_on_every_descriptor_are_mere_output(attack):
    result = attack(WRITE_EVERYWHERE + "os._exit(5)")
    assert result.exit_code == 5
    assert result.stdout == FORGED
    assert result.stderr == FORGED


def test_forged_frames_on_the_channel_are_mere_bytes(sandbox):
    async def main():
        process = await sandbox.start_python(WRITE_EVERYWHERE + "os._exit(5)")
        messages = []
        while (message := await process.receive()) is not None:
            messages.append(message)
        return messages, await process.wait()

    messages, result = run_sync(main())
    assert result.exit_code == 5
    (length,) = struct.unpack(">I", FORGED[:4])
    assert length > 8 * 1024 * 1024
    assert messages == []
    assert run_sync(sandbox.run_python("print(1)")).stdout == b"1\n"


def test_a_program_has_only_its_own_descriptors(attack):
    code = """
import os
for fd in sorted(int(n) for n in os.listdir('/proc/self/fd')):
    try: print(fd, os.readlink(f'/proc/self/fd/{fd}').split(':')[0])
    except OSError: pass
"""
    assert attack(code).stdout == b"0 pipe\n1 pipe\n2 pipe\n"


def test_a_program_with_a_channel_has_only_that_besides(sandbox):
    code = """
import os
for fd in sorted(int(n) for n in os.listdir('/proc/self/fd')):
    try: print(fd, os.readlink(f'/proc/self/fd/{fd}').split(':')[0])
    except OSError: pass
"""

    async def main():
        return await (await sandbox.start_python(code)).wait()

    assert run_sync(main()).stdout == b"0 pipe\n1 pipe\n2 pipe\n3 socket\n"


def test_a_command_has_only_its_own_descriptors(sandbox):
    result = run_sync(sandbox.run_command(["sh", "-c", "ls /proc/$$/fd"]))
    assert set(result.stdout.split()) <= {b"0", b"1", b"2", b"10", b"255"}


def test_sockets_found_in_memory_lead_nowhere(attack):
    code = f"""
import gc, os, select, socket
gc.unfreeze()
forged = {FORGED!r}
sent = 0
for thing in gc.get_objects():
    if isinstance(thing, socket.socket):
        for attempt in (lambda: thing.send(forged), lambda: os.write(thing.fileno(), forged)):
            try:
                attempt()
                sent += thing.fileno() > 2
            except (OSError, ValueError):
                pass
print('sent', sent, flush=True)
os._exit(6)
"""
    result = attack(code)
    assert result.exit_code == 6
    assert result.stdout.endswith(b"sent 0\n")


def test_objects_of_the_first_process_found_in_memory_lead_nowhere(attack):
    code = """
import gc, os, sys, types
gc.unfreeze()
for thing in gc.get_objects():
    if type(thing).__name__ in ('Guest', 'Zygote', 'Program'):
        for name in dir(thing):
            if name in ('send', '_flush', 'finish', 'run', '_collect', '_take_request'):
                try: getattr(thing, name)(5, 1, {'exit_code': 0}, b'PASS')
                except BaseException: pass
                try: getattr(thing, name)()
                except BaseException: pass
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        if hasattr(value, 'send'):
            try: value.send(5, 1, {'exit_code': 0}, b'PASS'); value._flush()
            except BaseException: pass
    frame = frame.f_back
os._exit(7)
"""
    assert not attack(code, cpu_seconds=2, wall_seconds=5).ok


def test_patches_of_the_runner_do_not_survive_their_program(sandbox):
    code = """
import gc, sys, types
gc.unfreeze()
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType) and '<guest>' in thing.__code__.co_filename:
        thing.__code__ = (lambda *a, **k: 'PASS').__code__
    if isinstance(thing, dict) and '_run_main' in thing:
        thing['_run_main'] = lambda *a: 0
"""
    run_sync(sandbox.run_python(code))
    result = run_sync(sandbox.run_python("raise SystemExit(9)"))
    assert result.exit_code == 9


def test_reopened_descriptors_lead_to_ones_own_pipes_only(attack):
    code = f"""
import os
forged = {FORGED!r}
for process in ('self', 'thread-self', '1', str(os.getppid())):
    for number in range(64):
        for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY):
            try:
                fd = os.open(f'/proc/{{process}}/fd/{{number}}', flags | os.O_NONBLOCK)
                os.write(fd, forged)
                print('wrote to', process, number)
            except OSError:
                pass
os._exit(8)
"""
    result = attack(code)
    assert result.exit_code == 8
    written = {
        line.split()[2:] and tuple(line.split()[2:])
        for line in result.stdout.replace(FORGED, b"").splitlines()
        if line.startswith(b"wrote to")
    }
    assert not any(process == b"1" for process, _ in written)


@pytest.mark.parametrize("status", [0, 1])
def test_printing_a_result_does_not_make_one(attack, status):
    code = (
        f'print(\'{{"exit_code": 0, "limit": ""}}\')\nprint(\'PASSED\')\nraise SystemExit({status})'
    )
    assert attack(code).exit_code == status


def test_terminal_sequences_are_bytes_like_others(attack):
    text = b"\x1b]0;title\x07\x1b[2J\x1b[31mred\r\x08\xe2\x80\xae\x00"
    assert attack(f"import os\nos.write(1, {text!r})").stdout == text
