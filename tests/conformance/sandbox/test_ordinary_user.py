"""Conformance and attacks once more, by an ordinary user: the backend `namespace` needs no root."""

import os
import pathlib
import re
import shutil
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUITES = {
    "conformance": (["tests/conformance/sandbox/test_backends.py"], 100),
    "catalogue": (["tests/attacks/sandbox/test_catalogue.py"], 250),
    "attacks": (
        [
            f"tests/attacks/sandbox/test_{name}.py"
            for name in ("copying", "host", "namespace", "neighbours", "residue")
        ],
        50,
    ),
}
FIRST_UID = 61_000


@pytest.fixture
def home():
    """A folder that an ordinary user may be given, unlike those of pytest."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ordinary-"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="this run is an ordinary user's itself")
@pytest.mark.parametrize("suite", SUITES)
def test_an_ordinary_users_sandboxes_pass_the_same_tests(suite, as_ordinary_user, home):
    modules, least = SUITES[suite]
    # Each has a user to itself, so that neither sees what the other has running.
    uid = FIRST_UID + list(SUITES).index(suite)
    os.chown(home, uid, uid)
    passed_on = ("PATH", "PYTHONPATH", "CI", "OMP_NUM_THREADS")
    environment = {name: os.environ[name] for name in passed_on if name in os.environ}
    output = as_ordinary_user(
        [
            *("-m", "pytest", "-q", "--backend", "namespace", "-m", "not root"),
            *("-c", str(ROOT / "setup.cfg"), "-p", "no:cacheprovider", "-p", "no:xdist"),
            f"--basetemp={home / 'pytest'}",
            *(str(ROOT / module) for module in modules),
        ],
        uid=uid,
        environment={
            **environment,
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        seconds=280,
    )
    (passed,) = re.findall(r"^(\d+) passed", output, re.MULTILINE)
    assert int(passed) >= least, output[-2000:]
