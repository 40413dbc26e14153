"""`execgym images`: building and listing, and plain words where something is wrong."""

from typer.testing import CliRunner

from execgym.cli.main import app
from execgym.sandbox.images import ImageFinding, image_states

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


def test_a_sound_image_is_checked_line_by_line(base_image):
    result = RUNNER.invoke(app, ["images", "check", "base"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.stdout
    assert result.stdout.count("ok") == 7
    assert "no set-user-id files" in result.stdout


def test_an_image_that_is_not_as_it_should_be_ends_with_status_1(base_image, monkeypatch):
    finding = ImageFinding(image="base", what="record", passed=False, detail="[bold]libc 2")
    monkeypatch.setattr("execgym.cli.images.check_images", lambda names: (finding,))
    result = RUNNER.invoke(app, ["images", "check"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "[bold]libc 2" in result.stdout


def test_an_image_is_unpacked_once(base_image, tmp_path):
    folder = str(tmp_path / "base")
    result = RUNNER.invoke(app, ["images", "unpack", "base", folder])
    assert result.exit_code == 0, result.stderr
    assert image_states()[0].record.digest in result.stdout
    result = RUNNER.invoke(app, ["images", "unpack", "base", folder])
    assert result.exit_code == 2
    assert "is there already" in result.stderr
