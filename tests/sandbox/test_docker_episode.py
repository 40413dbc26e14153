"""Sandboxes in containers of their own: what these are like, and how they end."""

import io
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

from execgym.sandbox import (
    Limits,
    SandboxSpec,
    SandboxUnavailableError,
    Template,
    TemplateError,
    docker_episode,
    image_fingerprint,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.docker_engine import engines
from execgym.sandbox.docker_owner import OWNER_LABEL
from execgym.sandbox.docker_reaper import remove_lost_containers

pytestmark = pytest.mark.usefixtures("base_image")
SPEC = SandboxSpec(backend="docker-per-episode")


def output(sandbox, code):
    return run_sync(sandbox.run_python(code)).check().stdout.decode().strip()


def live_ids():
    return {container["Id"] for container in engines.get().owned_containers()}


def state_of(sandbox):
    return engines.get()._api.inspect_container(sandbox._episode.container)


@pytest.fixture(scope="module")
def box():
    sandbox = run_sync(open_sandbox(SPEC))
    yield sandbox
    run_sync(sandbox.close())


def test_a_sandbox_in_its_own_container_runs_python(box):
    assert output(box, "print(6 * 7)") == "42"


def test_its_container_has_no_privilege_no_network_and_no_writable_root(box):
    state = state_of(box)
    host = state["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert not host["Privileged"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert (host["Binds"], host.get("Mounts"), state["Mounts"]) == (None, None, [])
    uid, _, gid = state["Config"]["User"].partition(":")
    assert int(uid) == int(gid) >= 10000


def test_its_container_is_under_the_daemons_own_profile(box):
    assert state_of(box)["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]


def test_its_container_is_bounded(box):
    host = state_of(box)["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] > 2 * SPEC.limits.memory_bytes
    assert host["PidsLimit"] == SPEC.limits.processes + 1
    assert 0 < host["CpuQuota"] <= 2 * host["CpuPeriod"]


def test_its_container_names_its_owner(box):
    labels = state_of(box)["Config"]["Labels"]
    assert labels[OWNER_LABEL] == str(os.getpid())
    assert labels["execgym.kind"] == "episode"
    assert labels["execgym.started"]


def test_nothing_is_run_by_docker_exec(box):
    output(box, "print(1)")
    assert not state_of(box)["ExecIDs"]


def test_the_guest_is_the_first_process_of_the_container(box):
    assert output(box, "import os; print(os.getppid(), open('/proc/1/comm').read())") == "1 sandbox"


def test_no_two_sandboxes_have_the_same_user(open_one, box):
    code = "import os; print(os.getuid())"
    assert output(open_one(SPEC), code) != output(box, code)


def test_what_an_image_sets_is_not_in_a_programs_environment(box):
    seen = output(box, "import os; print(sorted(os.environ), 'HOSTNAME' in os.environ)")
    assert seen.endswith("False")
    assert output(box, "print(b'HOSTNAME' in open('/proc/self/environ', 'rb').read())") == "False"


def test_the_fingerprint_is_the_images_id(box):
    assert box.fingerprint == state_of(box)["Image"]
    assert run_sync(image_fingerprint(SPEC)) == box.fingerprint


def test_the_three_folders_together_are_as_large_as_the_workspace_may_be(open_one):
    sandbox = open_one(SandboxSpec(backend=SPEC.backend, limits=Limits(workspace_bytes=16 << 20)))
    code = (
        "import os\nfor path in ('/workspace', '/tmp', '/dev/shm'):\n"
        "    s = os.statvfs(path); print(s.f_blocks * s.f_frsize, s.f_files)"
    )
    sizes = [tuple(map(int, line.split())) for line in output(sandbox, code).splitlines()]
    assert sum(size for size, _ in sizes) == 16 << 20
    assert sizes[0][0] == 12 << 20
    assert sum(inodes for _, inodes in sizes) == SPEC.limits.workspace_inodes


def test_a_template_is_preloaded(open_one):
    template = Template(modules=("json",), sources=(("of_ours", "ANSWER = 42"),))
    sandbox = open_one(SandboxSpec(backend=SPEC.backend, template=template))
    assert output(sandbox, "import of_ours; print(of_ours.ANSWER)") == "42"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (Template(modules=("no_such_module",)), "no_such_module"),
        (Template(sources=(("broken", "1 +"),)), "broken cannot be compiled"),
        (Template(sources=(("raises", "1 / 0"),)), "ZeroDivisionError"),
    ],
)
def test_a_template_that_cannot_be_imported_is_said_to_be_so(template, reason):
    with pytest.raises(TemplateError, match=reason):
        run_sync(open_sandbox(SandboxSpec(backend=SPEC.backend, template=template)))


def test_a_missing_image_names_the_command_that_makes_it():
    spec = SandboxSpec(backend=SPEC.backend, template=Template(image="execgym/nothing:latest"))
    with pytest.raises(SandboxUnavailableError, match="execgym images build nothing"):
        run_sync(open_sandbox(spec))


@pytest.fixture
def empty_image():
    """The name of an image in which there is nothing."""
    name = f"execgym-test/empty-{os.getpid()}"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("nothing"), io.BytesIO())
    api = engines.get()._api
    api.import_image_from_data(data.getvalue(), repository=name)
    yield name
    api.remove_image(name, force=True)


def test_an_image_without_python_is_told_by_the_runtimes_reason(empty_image):
    with pytest.raises(SandboxUnavailableError, match="python3"):
        run_sync(
            open_sandbox(SandboxSpec(backend=SPEC.backend, template=Template(image=empty_image)))
        )


def test_a_runtime_that_cannot_run_here_is_refused_with_its_reason(open_one):
    spec = SandboxSpec(backend=SPEC.backend, runtime="crun")
    if "crun" not in engines.get().facts().runtimes:
        expected = "no runtime 'crun'"
    elif pathlib.Path("/sys/fs/cgroup/unified").is_mount():
        expected = "the runtime 'crun' cannot run containers here: .*hybrid"
    else:
        assert output(open_one(spec), "print(1)") == "1"
        return
    with pytest.raises(SandboxUnavailableError, match=expected):
        run_sync(open_sandbox(spec))


def test_a_closed_sandboxs_container_is_removed(open_one, eventually):
    sandbox = open_one(SPEC)
    container = sandbox._episode.container
    run_sync(sandbox.close())
    eventually(lambda: container not in live_ids())


def test_containers_are_started_ahead_of_their_use(open_one, eventually):
    spec = SandboxSpec(backend=SPEC.backend, limits=Limits(processes=33))
    kind = docker_episode.kind_of(spec)
    open_one(spec), open_one(spec)
    eventually(lambda: docker_episode._pool.ready(kind) == 2)
    waiting = docker_episode._pool._warm[kind][0].container
    assert open_one(spec)._episode.container == waiting


def test_a_container_that_was_removed_while_it_waited_costs_nobody_an_error(open_one, eventually):
    spec = SandboxSpec(backend=SPEC.backend, limits=Limits(processes=34))
    kind = docker_episode.kind_of(spec)
    open_one(spec), open_one(spec)
    eventually(lambda: docker_episode._pool.ready(kind) == 2)
    for episode in docker_episode._pool._warm[kind]:
        engines.get().remove(episode.container)
    assert output(open_one(spec), "print(1)") == "1"


def test_a_kill_for_want_of_memory_is_the_limit_memory(open_one):
    limits = Limits(memory_bytes=64 << 20, workspace_bytes=8 << 20)
    sandbox = open_one(SandboxSpec(backend=SPEC.backend, limits=limits))
    # Memory that no process is charged for, faster than anybody can look.
    code = """
import mmap, os
for _ in range(4): os.fork()
while True:
    m = mmap.mmap(-1, 1 << 28)
    for i in range(0, 1 << 28, 4096): m[i] = 1
"""
    result = run_sync(sandbox.run_python(code))
    assert result.limit == "memory"
    assert output(sandbox, "print(1)") == "1"


OWNER = """
import sys
from execgym.sandbox import SandboxSpec, docker_episode, open_sandbox, run_sync
spec = SandboxSpec(backend="docker-per-episode")
sandboxes = [run_sync(open_sandbox(spec)) for _ in range(2)]
while docker_episode._pool.ready(docker_episode.kind_of(spec)) < 2: pass
waiting = docker_episode._pool._warm[docker_episode.kind_of(spec)]
print(*(each._episode.container for each in sandboxes), *(each.container for each in waiting),
      flush=True)
sys.stdin.read()
"""


def start_owner():
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return owner, set(owner.stdout.readline().split())


def test_containers_end_with_a_killed_owner_and_never_with_another(eventually, box):
    owner, its = start_owner()
    with owner:
        assert len(its) == 4
        assert its <= live_ids()
        owner.kill()
        eventually(lambda: not its & live_ids())
    assert output(box, "print(1)") == "1"


def test_an_owner_that_ends_by_itself_leaves_no_container(eventually):
    owner, its = start_owner()
    with owner:
        owner.stdin.close()
        assert owner.wait(timeout=60) == 0
    eventually(lambda: not its & live_ids())


LOST = """
from execgym.sandbox.docker_container import bare_container, bare_host_config
from execgym.sandbox.docker_engine import engines
engine = engines.get()
image = engine.image_id("execgym/base:latest")
config = bare_container(image, 12345, "episode") | {
    "Cmd": ["sleep", "1000"], "HostConfig": bare_host_config("runc")}
print(engine.create(config))
"""


def test_a_container_that_never_started_is_removed_once_its_owner_has_gone(box):
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, check=True)
    lost = done.stdout.strip()
    assert lost in live_ids()
    assert lost in remove_lost_containers()
    assert lost not in live_ids()
    assert output(box, "print(1)") == "1"
