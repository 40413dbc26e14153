"""Sandboxes in pods: what they can do, what they cannot, and how they end."""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

from execgym.sandbox import (
    Limits,
    SandboxDiedError,
    SandboxSpec,
    SandboxUnavailableError,
    Template,
    TemplateError,
    docker_pod,
    image_fingerprint,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.docker_engine import engines
from execgym.sandbox.docker_owner import OWNER_LABEL
from execgym.sandbox.docker_pod import PodKind

pytestmark = pytest.mark.usefixtures("base_image")
SPEC = SandboxSpec(backend="docker")
KIND = PodKind(SPEC.template, "")


def output(sandbox, code):
    result = run_sync(sandbox.run_python(code)).check()
    return result.stdout.decode().strip()


def own_containers():
    return [
        container
        for container in engines.get().owned_containers()
        if container["Labels"][OWNER_LABEL] == str(os.getpid())
    ]


@pytest.fixture
def pod_sandbox(open_one):
    return open_one(SPEC)


def pod_state(sandbox):
    container = docker_pod._pods.get(KIND)._container
    return engines.get()._api.inspect_container(container)


def test_a_sandbox_in_a_pod_runs_python(pod_sandbox):
    assert output(pod_sandbox, "print(6 * 7)") == "42"


def test_sandboxes_of_a_template_share_one_container(open_one):
    open_one(SPEC)
    before = len(own_containers())
    for _ in range(2):
        open_one(SPEC)
    assert len(own_containers()) == before


def test_a_pod_has_no_privilege_no_network_and_no_writable_root(pod_sandbox):
    state = pod_state(pod_sandbox)
    host = state["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["Privileged"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert host["Memory"] == host["MemorySwap"] > 0
    assert host["PidsLimit"] > 0
    uid, _, gid = state["Config"]["User"].partition(":")
    assert int(uid) == int(gid) >= 10000


def test_a_sandbox_in_a_pod_has_neither_capabilities_nor_the_hosts_ids(pod_sandbox):
    status = output(pod_sandbox, "print(open('/proc/self/status').read())")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    assert fields["Uid"].split() == ["1000"] * 4
    assert output(pod_sandbox, "print(open('/proc/self/uid_map').read())").split()[:2] == [
        "1000",
        "0",
    ]


def test_a_sandbox_in_a_pod_sees_nothing_of_its_pod(pod_sandbox):
    result = run_sync(pod_sandbox.run_python("open('/proc/1/environ')"))
    assert b"Permission denied" in result.stderr
    seen = output(pod_sandbox, "import os; print(sorted(os.listdir('/')))")
    assert "run" not in seen
    assert ".dockerenv" not in seen


def test_a_closed_sandbox_leaves_its_neighbour_alone(open_one):
    first, second = open_one(SPEC), open_one(SPEC)
    run_sync(first.close())
    assert output(second, "print(1)") == "1"


def test_the_fingerprint_is_the_images_id(pod_sandbox):
    assert pod_sandbox.fingerprint == pod_state(pod_sandbox)["Image"]
    assert run_sync(image_fingerprint(SPEC)) == pod_sandbox.fingerprint


def test_a_template_is_preloaded_in_the_pod(open_one):
    template = Template(modules=("json",), sources=(("of_ours", "ANSWER = 42"),))
    sandbox = open_one(SandboxSpec(backend="docker", template=template))
    assert output(sandbox, "import of_ours; print(of_ours.ANSWER)") == "42"


def test_a_template_that_cannot_be_imported_is_said_to_be_so():
    spec = SandboxSpec(backend="docker", template=Template(modules=("no_such_module",)))
    with pytest.raises(TemplateError, match="no_such_module"):
        run_sync(open_sandbox(spec))
    assert all("no_such_module" not in str(container["Command"]) for container in own_containers())


def test_a_missing_image_names_the_command_that_makes_it():
    spec = SandboxSpec(backend="docker", template=Template(image="execgym/nothing:latest"))
    with pytest.raises(SandboxUnavailableError, match="execgym images build nothing"):
        run_sync(open_sandbox(spec))


def test_a_folder_is_no_image_of_dockers():
    spec = SandboxSpec(backend="docker", template=Template(image="/"))
    with pytest.raises(TemplateError, match="the name or the id of an image"):
        run_sync(open_sandbox(spec))


def test_an_unknown_runtime_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'runc', 'crun', 'runsc'"):
        SandboxSpec(backend="docker", runtime="kata")
    with pytest.raises(ValueError, match="needs backend 'docker'"):
        SandboxSpec(backend="namespace", runtime="runc")


def test_a_pod_on_gvisor_is_refused_with_the_way_out():
    if "runsc" not in engines.get().facts().runtimes:
        expected = "no runtime 'runsc'"
    else:
        expected = "docker-per-episode"
    with pytest.raises(SandboxUnavailableError, match=expected):
        run_sync(open_sandbox(SandboxSpec(backend="docker", runtime="runsc")))


def test_a_killed_pod_is_replaced_at_the_next_open(open_one):
    spec = SandboxSpec(backend="docker", template=Template(modules=("string",)))
    kind = PodKind(spec.template, "")
    sandbox = open_one(spec)
    first = docker_pod._pods.get(kind)._container
    engines.get().remove(first)
    with pytest.raises(SandboxDiedError):
        run_sync(sandbox.run_python("print(1)"))
    assert output(open_one(spec), "print(1)") == "1"
    assert docker_pod._pods.get(kind)._container != first


def test_limits_hold_in_a_pod(open_one):
    sandbox = open_one(
        SandboxSpec(backend="docker", limits=Limits(cpu_seconds=0.5, workspace_bytes=1 << 20))
    )
    assert run_sync(sandbox.run_python("while True: pass")).limit == "cpu"
    result = run_sync(sandbox.run_python("open('big', 'wb').write(bytes(2 << 20))"))
    assert b"No space left" in result.stderr


OWNER = """
import sys, time
from execgym.sandbox import SandboxSpec, open_sandbox, run_sync, docker_pod
from execgym.sandbox.docker_pod import PodKind
spec = SandboxSpec(backend="docker")
sandbox = run_sync(open_sandbox(spec))
print(docker_pod._pods.get(PodKind(spec.template, ""))._container, flush=True)
sys.stdin.read()
"""


def start_owner():
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return owner, owner.stdout.readline().strip()


def live_ids():
    return {container["Id"] for container in engines.get().owned_containers()}


def test_a_pod_ends_with_a_killed_owner_and_never_with_another(eventually):
    first, of_first = start_owner()
    second, of_second = start_owner()
    with first, second:
        assert {of_first, of_second} <= live_ids()
        first.kill()
        eventually(lambda: of_first not in live_ids())
        assert of_second in live_ids()
        second.stdin.close()
        assert second.wait(timeout=60) == 0
        assert of_second not in live_ids()


def test_a_start_leaves_no_folder(pod_sandbox):
    folders = pathlib.Path(tempfile.gettempdir()).glob("execgym-pod-*")
    assert [folder for folder in folders if f"-{os.getpid()}-" in folder.name] == []
