"""`run_command` runs a program of the image."""

import pytest

from execgym.sandbox import run_sync


def run(sandbox, argv, **options):
    return run_sync(sandbox.run_command(argv, **options))


def test_a_program_runs_in_the_workspace(sandbox):
    result = run(sandbox, ["pwd"])
    assert (result.stdout, result.exit_code) == (b"/workspace\n", 0)


def test_arguments_arrive_as_they_are(sandbox):
    result = run(sandbox, ["printf", "%s|", "a b", "", "$HOME", "*", "-n", "é"])
    assert result.stdout.decode() == "a b||$HOME|*|-n|é|"


def test_a_missing_program_gives_127_and_says_so(sandbox):
    result = run(sandbox, ["no-such-program"])
    assert result.exit_code == 127
    assert b"no-such-program" in result.stderr


@pytest.mark.parametrize("path", ["/workspace/data", "/workspace", "./data"])
def test_a_program_that_cannot_be_executed_gives_126(sandbox, path):
    run_sync(sandbox.write_file("data", b"#!/bin/sh\n"))
    assert run(sandbox, [path]).exit_code == 126


def test_a_script_of_ones_own_can_be_run(sandbox):
    run_sync(sandbox.write_file("go", b"#!/bin/sh\necho ran $1\n"))
    assert run(sandbox, ["chmod", "+x", "go"]).ok
    assert run(sandbox, ["./go", "x"]).stdout == b"ran x\n"


def test_standard_input_reaches_the_program(sandbox):
    assert run(sandbox, ["cat"], stdin=b"a\0b" * 100_000).stdout_dropped > 0
    assert run(sandbox, ["wc", "-c"], stdin=b"a\0b" * 100_000).stdout.split() == [b"300000"]


def test_variables_are_added_to_the_sandboxs_own(sandbox):
    result = run(sandbox, ["sh", "-c", "echo $MINE $HOME $USER"], env={"MINE": "é"})
    assert result.stdout.decode() == "é /workspace sandbox\n"


def test_a_variable_may_replace_the_path(sandbox):
    assert run(sandbox, ["true"], env={"PATH": "/nowhere"}).exit_code == 127


@pytest.mark.parametrize("argv", [["a\0b"], ["echo", "a\0b"], ["echo", "\ud800"]])
def test_an_argument_that_no_command_line_can_hold_is_refused(sandbox, argv):
    with pytest.raises(ValueError, match=r"NUL|surrogate"):
        run(sandbox, argv)
    assert run(sandbox, ["true"]).ok


@pytest.mark.parametrize("env", [{"A": "\0"}, {"A\0": ""}, {"\ud800": ""}])
def test_a_variable_that_no_environment_can_hold_is_refused(sandbox, env):
    with pytest.raises(ValueError, match=r"NUL|surrogate"):
        run(sandbox, ["true"], env=env)


@pytest.mark.parametrize("name", ["", "A=B"])
def test_a_variables_name_is_neither_empty_nor_holds_an_equals_sign(sandbox, name):
    with pytest.raises(ValueError, match="variable"):
        run(sandbox, ["true"], env={name: "x"})


def test_an_empty_command_is_refused(sandbox):
    with pytest.raises(ValueError, match="program's name"):
        run(sandbox, [])


def test_an_empty_program_name_is_not_found(sandbox):
    assert run(sandbox, [""]).exit_code == 127


def test_too_long_an_argument_is_the_commands_failure(sandbox):
    result = run(sandbox, ["echo", "x" * 300_000])
    assert result.exit_code == 126
    assert b"too long" in result.stderr.lower()


def test_more_arguments_than_a_frame_holds_are_refused_without_harm(sandbox):
    with pytest.raises(ValueError, match="at most"):
        run(sandbox, ["echo", "x" * 2_000_000])
    assert run(sandbox, ["true"]).ok


def test_a_signal_ends_a_command_with_128_more(sandbox):
    result = run(sandbox, ["sh", "-c", "kill -TERM $$"])
    assert (result.signal, result.exit_code) == (15, 143)


def test_background_jobs_end_with_the_command(sandbox):
    result = run(sandbox, ["sh", "-c", "sleep 1000 & setsid sleep 1000 & echo started"])
    assert (result.stdout, result.limit) == (b"started\n", "")
    assert run_sync(sandbox.stats()).processes == 1


def test_a_broken_pipe_ends_the_writer_as_in_any_shell(sandbox):
    result = run(sandbox, ["sh", "-c", "yes | head -n 1"])
    assert (result.stdout, result.exit_code) == (b"y\n", 0)


def test_the_hosts_python_runs_as_a_command_too(sandbox):
    assert run(sandbox, ["python", "-c", "print(6 * 7)"]).stdout == b"42\n"


def test_common_programs_work(sandbox):
    script = (
        "echo b > x; echo a >> x; sort x | tr a-z A-Z; ls -l x | wc -l; whoami; id -u; hostname"
    )
    result = run(sandbox, ["sh", "-c", script])
    assert result.stdout == b"A\nB\n1\nsandbox\n1000\nsandbox\n", result.stderr
