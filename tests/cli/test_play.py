"""`execgym run`, `list`, `doctor` and `data` as a person uses them."""

import json

import pytest
from typer.testing import CliRunner

from execgym.cli.main import app


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("env", ["SQL-v0", "execgym/Coding-v0"])
def test_the_reference_passes_every_episode(env, tmp_path):
    output = tmp_path / "episodes.jsonl"
    result = invoke("run", env, "--episodes", "3", "--output", str(output))
    assert result.exit_code == 0, result.output
    assert "passed 3/3" in result.output
    assert [json.loads(line)["passed"] for line in output.read_text().splitlines()] == [True] * 3


@pytest.mark.parametrize("agent", ["noop", "random"])
def test_an_agent_that_knows_nothing_passes_no_episode(agent):
    result = invoke("run", "SQL-v0", "--agent", agent, "--episodes", "3", "--quiet")
    assert "passed 0/3" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "SLQ-v0"), "Did you mean 'SQL-v0'"),
        (("run", "SQL-v0", "--tasks", "spyder"), "spider"),
        (("run", "SQL-v0", "--level", "9"), "level 9 is not one of 1, 2, 3, 4, 5"),
        (("run", "SQL-v0", "--split", "dev"), "split 'dev' is not one of train, test"),
        (("data", "fetch", "humanevil"), "Did you mean 'humaneval'"),
        (("data", "import", "/nowhere"), "/nowhere is not a folder"),
    ],
)
def test_a_mistake_is_named_with_the_way_out_and_status_2(arguments, said):
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2
    assert said in result.output


def test_list_names_every_environment_and_source():
    result = invoke("list")
    assert result.exit_code == 0
    for word in ("SQL-v0", "Coding-v0", "generated", "spider", "humaneval", "endless"):
        assert word in result.output


def test_doctor_names_the_backend():
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "backend='auto' takes 'namespace'" in result.output


def test_data_list_names_licences():
    result = invoke("data", "list")
    assert result.exit_code == 0
    assert "MIT" in result.output
