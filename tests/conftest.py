"""What the whole suite shares: the public sets' place, no silent skip in CI, and a leak check."""

import os
import pathlib
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEAK_DEADLINE_SECONDS = 10
pytest_plugins = ("docker_daemon", "ordinary_user")
BACKENDS = ("namespace", "docker", "docker-per-episode")
"""The sandbox backends that the conformance and attack suites run on."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backend",
        action="append",
        choices=BACKENDS,
        help="run what runs on every sandbox backend on this one only (may be repeated)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        backends = metafunc.config.getoption("--backend") or BACKENDS
        metafunc.parametrize("backend", backends, indirect=True, scope="session")


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> str:
    """Each sandbox backend in turn."""
    if request.param.startswith("docker"):
        request.getfixturevalue("base_image")
    return request.param


def _test_data() -> pathlib.Path:
    return pathlib.Path(os.environ.get("EXECGYM_TEST_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def public_sets() -> pathlib.Path:
    """The folder of public sets, laid out as in the project's shared data."""
    folder = _test_data()
    if not folder.is_dir():
        pytest.skip(f"no public task sets in {folder}; set EXECGYM_TEST_DATA")
    return folder


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if not hasattr(config, "workerinput"):
        config.stash[_BEFORE] = _left_behind()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    leaks = _leaks(session.config.stash[_BEFORE])
    session.config.stash[_LEAKS] = leaks
    skipped = _skipped(session)
    if leaks or (skipped and os.environ.get("CI")):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter) -> None:
    config = terminalreporter.config
    for leak in config.stash.get(_LEAKS, []):
        terminalreporter.write_line(f"LEAK: {leak}", red=True)
    if os.environ.get("CI") and terminalreporter.stats.get("skipped"):
        terminalreporter.write_line("In CI no test may be skipped.", red=True)


_BEFORE = pytest.StashKey[set]()
_LEAKS = pytest.StashKey[list]()


def _skipped(session: pytest.Session) -> int:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    return len(reporter.stats.get("skipped", [])) if reporter else 0


def _left_behind() -> set[str]:
    """Name what a sandbox could leave on the host: processes, mounts, temporary entries.

    An ordinary user can leave nothing but its own, and is not alone.
    """
    everyone = os.geteuid() == 0
    whose = ["-e"] if everyone else ["-U", str(os.geteuid())]
    listing = subprocess.run(
        ["ps", *whose, "-o", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    processes = {line for line in listing if "zygote" in line or "execgym-sandbox" in line}
    mounts = {
        line
        for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
        if "execgym" in line
    }
    temporary = {
        str(path)
        for path in pathlib.Path("/tmp").glob("execgym*")
        if everyone or path.lstat().st_uid == os.geteuid()
    }
    return processes | mounts | temporary


def _leaks(before: set[str]) -> list[str]:
    deadline = time.monotonic() + LEAK_DEADLINE_SECONDS
    while True:
        leaks = sorted(_left_behind() - before)
        if not leaks or time.monotonic() > deadline:
            return leaks
        time.sleep(0.1)
