"""Each backend is tried, and `auto` takes the first that works."""

import pytest

from execgym.sandbox import CommandResult, trial
from execgym.sandbox.trial import Trial, taken_by_auto, try_backends


def test_every_backend_is_tried_and_those_that_work_say_how_long_it_took(base_image):
    trials = try_backends()
    assert {each.backend for each in trials} == {"namespace", "docker", "docker-per-episode"}
    named = {each.runtime for each in trials if each.backend == "docker-per-episode"}
    assert "" in named
    for each in trials:
        if not each.runtime:
            assert (each.works, each.reason) == (True, "")
        assert (each.seconds > 0) == each.works == (not each.reason)
    assert taken_by_auto(trials) == "namespace"


def test_without_a_daemon_its_backends_say_so(no_daemon):
    reasons = {each.backend: each.reason for each in try_backends()}
    assert reasons["namespace"] == ""
    for backend in ("docker", "docker-per-episode"):
        assert "no Docker daemon answers" in reasons[backend]


@pytest.mark.parametrize(
    ("working", "taken"),
    [
        (("namespace", "docker"), "namespace"),
        (("docker", "docker-per-episode"), "docker"),
        (("docker-per-episode",), ""),
        ((), ""),
    ],
)
def test_auto_takes_the_first_of_its_own_that_works(working, taken):
    trials = tuple(
        Trial(backend=name, works=name in working)
        for name in ("namespace", "docker", "docker-per-episode")
    )
    assert taken_by_auto(trials) == taken


def test_a_program_that_comes_to_nothing_is_no_working_backend(monkeypatch):
    class Silent:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            pass

        async def run_python(self, code):
            return CommandResult(exit_code=0)

    async def open_silent(spec):
        return Silent()

    monkeypatch.setattr(trial, "open_sandbox", open_silent)
    assert not trial._try("namespace").works
