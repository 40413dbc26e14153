"""`execgym images`: building and listing, and plain words where something is wrong."""

from typer.testing import CliRunner

from execgym.cli.main import app
from execgym.sandbox.images import image_states

RUNNER = CliRunner()


def test_an_image_that_is_there_is_named_with_its_digest(base_image):
    record = image_states()[0].record
    result = RUNNER.invoke(app, ["images", "build", "base", "--base", record.base])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == f"base was there already: {record.digest}"


def test_every_known_image_is_listed(base_image):
    result = RUNNER.invoke(app, ["images", "list"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert image_states()[0].record.digest[:19] in result.stdout
    assert all(state.template.name in result.stdout for state in image_states())


def test_an_unknown_image_is_answered_with_the_known_ones(docker_daemon):
    result = RUNNER.invoke(app, ["images", "build", "nothing"])
    assert result.exit_code == 2
    assert "image 'nothing' is not one of base, data, network" in result.stderr


def test_a_daemon_that_does_not_answer_is_a_plain_error(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    result = RUNNER.invoke(app, ["images", "list"])
    assert result.exit_code == 2
    assert "none.sock" in result.stderr
