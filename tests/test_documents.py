"""Every command and every example of the documents is run."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# They take long, and what they run has tests of its own.
LONG = ("execgym train", "execgym validate")


def blocks(language: str):
    for document in DOCUMENTS:
        for found, text in BLOCK.findall(document.read_text(encoding="utf-8")):
            if found == language:
                yield document.name, text


def commands():
    lines = {}
    for name, text in blocks("sh"):
        for line in text.splitlines():
            command = line.partition("#")[0].strip()
            if command:
                lines.setdefault(command, name)
    return [(name, command) for command, name in lines.items()]


def links():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                yield document, target


def test_the_examples_of_the_readme_run(tmp_path):
    parts = [
        text.replace('tasks="humaneval", ', "")
        for name, text in blocks("python")
        if name == "README.md"
    ]
    assert len(parts) >= 3
    code = "import execgym, gymnasium\n" + "\n".join(parts)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("document", "command"), commands())
def test_a_documented_command_runs(document, command, tmp_path):
    program, *arguments = shlex.split(command)
    if program == "make":
        run = ["make", "-n", *arguments]
        folder = ROOT
    elif program == "execgym":
        if command.startswith(LONG) and "--help" not in arguments:
            arguments = [arguments[0], "--help"]
        run = [sys.executable, "-m", "execgym.cli.main", *arguments]
        folder = tmp_path
    elif program == "python" and arguments[0].startswith("benchmarks/"):
        run = [sys.executable, arguments[0], "--help"]
        folder = ROOT
    else:
        pytest.fail(f"{document} has a command that no test knows how to run: {command}")
    result = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("document", "target"), list(links()))
def test_a_link_leads_to_a_file(document, target):
    assert (document.parent / target).exists()
