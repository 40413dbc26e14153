"""What the suite's own plugins leave behind: nothing, even after a run that was killed."""

import os
import pathlib
import subprocess
import sys

import docker_daemon

from execgym.sandbox.docker_owner import mark

ROOT = pathlib.Path(__file__).resolve().parents[1]
OWNER = "from execgym.sandbox.docker_owner import mark; print(mark())"


def test_the_folder_of_a_run_that_was_killed_is_removed_and_a_living_runs_is_not(tmp_path):
    done = subprocess.run([sys.executable, "-c", OWNER], capture_output=True, text=True, check=True)
    lost = tmp_path / f"execgym-docker-{done.stdout.strip()}abc"
    living = tmp_path / f"execgym-docker-{mark()}abc"
    strange = tmp_path / "execgym-docker-abc"
    for folder in (lost, living, strange):
        folder.mkdir()
        (folder / "daemon.pid").write_text(str(os.getpid()))
    docker_daemon.clear_lost_folders(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([living, strange])


def test_a_run_with_a_mistake_in_its_arguments_leaves_no_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--backend", "none", "-c", str(ROOT / "setup.cfg")],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert list(tmp_path.glob("execgym*")) == []


def test_a_run_that_only_collects_leaves_no_folder(tmp_path):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "setup.cfg"), str(ROOT / "tests" / "test_plugins.py")]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert list(tmp_path.glob("execgym*")) == []
