"""The seccomp profile of pods against Docker's own default, call by call on the daemon itself."""

import errno
import json
import platform

import pytest

from execgym.sandbox import seccomp
from execgym.sandbox.images import docker_client
from execgym.sandbox.seccomp_profile import ADDED, allowed_calls, pod_profile

# Of a call that is newer than all that a profile names, the runtime says that it does not exist.
DENIED = (errno.EPERM, errno.ENOSYS)
# Makes each call in a fork of its own, with arguments that no call can do anything with, and says
# which error it got: 0 for none, -1 where the fork died or did not come back.
PROBE = """
import ctypes, json, os, select, signal
libc = ctypes.CDLL(None, use_errno=True)
def answer(number):
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        nothing = ctypes.c_ulong(2**64 - 1)
        result = libc.syscall(ctypes.c_long(number), *[nothing] * 6)
        os.write(write_end, bytes([ctypes.get_errno() if result < 0 else 0]))
        os._exit(0)
    os.close(write_end)
    ready = select.select([read_end], [], [], 1)[0]
    said = os.read(read_end, 1) if ready else b""
    os.close(read_end)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return said[0] if said else -1
print(json.dumps([answer(number) for number in range(FIRST_UNREVIEWED)]))
"""


def answers(image, profile):
    code = PROBE.replace("FIRST_UNREVIEWED", str(seccomp._FIRST_UNREVIEWED))
    options = [] if profile is None else [f"seccomp={profile}"]
    with docker_client() as client:
        said = client.containers.run(
            image,
            ["python3", "-I", "-S", "-c", code],
            cap_drop=["ALL"],
            security_opt=options,
            network_mode="none",
            user="12345:12345",
            remove=True,
            init=True,
        )
    return json.loads(said)


@pytest.fixture(scope="module")
def of_default(base_image):
    return answers(base_image, None)


@pytest.fixture(scope="module")
def of_pod(base_image):
    return answers(base_image, pod_profile())


@pytest.fixture(scope="module")
def of_none(base_image):
    return answers(base_image, "unconfined")


def added_numbers():
    column = 0 if platform.machine() == "x86_64" else 1
    return {
        seccomp._CLONE[platform.machine()] if name == "clone" else seccomp._DENIED[name][column]
        for name in ADDED
    }


def test_what_dockers_default_denies_is_denied_but_for_what_is_named(of_default, of_pod, of_none):
    freed = {
        number
        for number, (default, pod) in enumerate(zip(of_default, of_pod, strict=True))
        if default != pod and pod not in DENIED
    }
    assert freed <= added_numbers()
    # The comparison says something: the default does deny what the kernel itself would not.
    denied = [number for number in range(len(of_none)) if of_default[number] != of_none[number]]
    assert len(denied) >= 20


def test_what_is_added_is_allowed(of_pod, of_none):
    for number in added_numbers():
        assert of_pod[number] == of_none[number], number


def test_what_is_taken_away_is_denied_in_every_sandbox_anyway(of_default, of_pod):
    column = 0 if platform.machine() == "x86_64" else 1
    in_sandboxes = {numbers[column] for numbers in seccomp._DENIED.values()}
    taken = {
        number
        for number, (default, pod) in enumerate(zip(of_default, of_pod, strict=True))
        if default not in DENIED and pod in DENIED
    }
    assert taken <= in_sandboxes


def test_nothing_that_reaches_into_other_namespaces_is_allowed():
    allowed = set(allowed_calls())
    assert not allowed & {"setns", "ptrace", "bpf", "keyctl", "open_by_handle_at", "pidfd_getfd"}
    assert not allowed & {"move_mount", "fsopen", "fsmount", "open_tree", "mount_setattr", "chroot"}


def test_every_name_is_given_once():
    from execgym.sandbox.seccomp_profile import _DEFAULT_ALLOWS

    names = _DEFAULT_ALLOWS.split()
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_profile_denies_what_it_does_not_name(machine):
    profile = json.loads(pod_profile(machine))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    (architecture,) = profile["architectures"]
    assert machine in architecture.lower()


def test_an_unknown_machine_has_no_profile():
    with pytest.raises(OSError, match="vax"):
        pod_profile("vax")
