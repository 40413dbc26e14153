"""A Docker daemon and the base image for tests, shared by all workers of a run.

A daemon that runs is used as it is. Where none does, a run as root starts one of its own, whose
images stay in the user's cache for the next run, and stops it at the end. `DOCKER_HOST` then names
it. The process that gathers the tests keeps the folder through which the workers agree.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

START_SECONDS = 60
STOP_SECONDS = 60
_FOLDER = "EXECGYM_TEST_DOCKER"
_PREFIX = "execgym-docker-"
# Where Debian puts programs that an ordinary user's PATH may lack.
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
# gVisor's default platform needs KVM or newer ptrace; it never needs the host's network here.
_LOCK_FD = 3
_RUNTIMES = {"crun": [], "runsc": ["--network=none", "--platform=ptrace"]}


@pytest.fixture(scope="session")
def docker_daemon() -> str:
    """The address of a Docker daemon. Skips where none runs and none can be started."""
    folder = _folder()
    address = folder / "address"
    with _locked(folder / "daemon.lock"):
        if not address.exists():
            address.write_text(_running_daemon() or _start_daemon(folder))
    if address.read_text() != _address_in_use():
        os.environ["DOCKER_HOST"] = address.read_text()
    return address.read_text()


@pytest.fixture(scope="session")
def base_image(docker_daemon: str) -> str:
    """The name of `execgym/base`, which is built where it is missing or outdated."""
    from execgym.sandbox.images import (
        DEBIAN_BASE,
        DEFAULT_BASE,
        ImageError,
        build_images,
        image_states,
    )

    with _locked(_folder() / "images.lock"):
        try:
            records = {state.template.name: state.record for state in image_states()}
            here = records["base"].base if records["base"] is not None else ""
            made = DEBIAN_BASE if shutil.which("mmdebstrap") else DEFAULT_BASE
            build_images(("base",), base=here or made)
        except ImageError as error:
            pytest.skip(f"there is no base image: {error}")
    return "execgym/base:latest"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        from execgym.sandbox.docker_owner import mark

        clear_lost_folders(pathlib.Path(tempfile.gettempdir()))
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix=f"{_PREFIX}{mark()}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        _stop_daemon(_folder())


def pytest_unconfigure(config: pytest.Config) -> None:
    # A run that never came to a session, for a mistake in its arguments, has a folder, too.
    if not hasattr(config, "workerinput") and _folder().exists():
        _stop_daemon(_folder())


def clear_lost_folders(place: pathlib.Path) -> None:
    """Remove what runs left that were killed, and stop their daemons; never a living run's."""
    from execgym.sandbox.docker_owner import mark_is_lost

    for folder in place.glob(f"{_PREFIX}*"):
        mine = folder.lstat().st_uid == os.geteuid()
        if mine and mark_is_lost(folder.name.removeprefix(_PREFIX)):
            _stop_daemon(folder)


def _folder() -> pathlib.Path:
    return pathlib.Path(os.environ[_FOLDER])


def _address_in_use() -> str:
    return os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


@contextlib.contextmanager
def _locked(path: pathlib.Path):
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _answers(address: str) -> bool:
    from execgym.sandbox.images import ImageError, docker_client

    try:
        with docker_client(address):
            return True
    except ImageError:
        return False


def _running_daemon() -> str:
    address = _address_in_use()
    return address if _answers(address) else ""


def _start_daemon(folder: pathlib.Path) -> str:
    if os.geteuid() != 0:
        pytest.skip(f"no Docker daemon answers at {_address_in_use()}, and only root may start one")
    if shutil.which("dockerd", path=_PATH) is None:
        pytest.skip("there is no Docker daemon: apt-get install docker.io")
    address = f"unix://{folder / 'docker.sock'}"
    with contextlib.ExitStack() as stack:
        data_root, lock = _data_root(folder, stack)
        configuration = {
            "hosts": [address],
            "data-root": str(data_root),
            "exec-root": str(folder / "exec"),
            "pidfile": str(folder / "pid"),
            # Nothing in the tests has a network of the daemon's, so none of the host's is touched.
            "bridge": "none",
            "iptables": False,
            "ip6tables": False,
            "runtimes": {
                name: {"path": path, "runtimeArgs": arguments}
                for name, arguments in _RUNTIMES.items()
                if (path := shutil.which(name, path=_PATH))
            },
        }
        (folder / "daemon.json").write_text(json.dumps(configuration))
        # Not a Popen, which would warn at this worker's end that its process still runs.
        pid = os.posix_spawnp(
            "dockerd",
            ["dockerd", "--config-file", str(folder / "daemon.json")],
            {**os.environ, "PATH": _PATH},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, folder / "log", os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                # The daemon holds the lock on its data for as long as it lives.
                (os.POSIX_SPAWN_DUP2, lock, _LOCK_FD),
            ],
            setsid=True,
        )
    (folder / "daemon.pid").write_text(str(pid))
    deadline = time.monotonic() + START_SECONDS
    while not _answers(address):
        if not _is_alive(pid) or time.monotonic() > deadline:
            last = (folder / "log").read_text(errors="replace")[-1500:]
            pytest.skip(f"a Docker daemon could not be started: {last}")
        time.sleep(0.1)
    return address


def _data_root(folder: pathlib.Path, stack: contextlib.ExitStack) -> tuple[pathlib.Path, int]:
    """Return where the daemon keeps its images, locked: the cache unless another run is in it."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    for root in (cache / "execgym-tests" / "docker", folder / "data"):
        root.mkdir(parents=True, exist_ok=True)
        lock = stack.enter_context((root.parent / "docker.lock").open("w"))
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return root, lock.fileno()
    raise AssertionError("a folder that was made for this run is in use")


def _stop_daemon(folder: pathlib.Path) -> None:
    pid_file = folder / "daemon.pid"
    if pid_file.exists():
        pid = int(pid_file.read_text())
        if _is_daemon_of(pid, folder):
            _remove_containers(f"unix://{folder / 'docker.sock'}")
            _end(pid)
    mounts = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    for line in reversed(mounts):
        if (place := line.split()[1]).startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def _is_daemon_of(pid: int, folder: pathlib.Path) -> bool:
    # The number of one that has gone may be anybody's by now.
    try:
        return str(folder).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _is_alive(pid):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _remove_containers(address: str) -> None:
    from execgym.sandbox.images import ImageError, docker_client

    with contextlib.suppress(ImageError), docker_client(address) as client:
        for container in client.containers.list(all=True):
            container.remove(force=True)


def _is_alive(pid: int) -> bool:
    # It is a child of this process where there are no workers.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
