"""The suite itself: it finds what is wrong, names it, and goes on."""

import asyncio
import dataclasses

import pytest

from execgym.sandbox import SandboxDiedError, SandboxSpec, open_sandbox
from execgym.sandbox.conformance import CASES, SandboxConformance, check


class Broken:
    """A good sandbox but for one thing."""

    def __init__(self, sandbox):
        self._sandbox = sandbox

    def __getattr__(self, name):
        return getattr(self._sandbox, name)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self._sandbox.close()


class ForgetsTheStatus(Broken):
    async def run_python(self, *args, **kwargs):
        return dataclasses.replace(await self._sandbox.run_python(*args, **kwargs), exit_code=0)


class DoesNotCountDroppedOutput(Broken):
    async def run_python(self, *args, **kwargs):
        result = await self._sandbox.run_python(*args, **kwargs)
        return dataclasses.replace(result, stdout_dropped=0, stderr_dropped=0)


class DoesNotTellLimits(Broken):
    async def run_python(self, *args, **kwargs):
        return dataclasses.replace(await self._sandbox.run_python(*args, **kwargs), limit="")


class SplitsArguments(Broken):
    async def run_command(self, argv, **kwargs):
        return await self._sandbox.run_command(" ".join(argv).split(), **kwargs)


class ListsInAnyOrder(Broken):
    async def list_files(self):
        return tuple(reversed(await self._sandbox.list_files()))


class CannotBeClosedTwice(Broken):
    closed = False

    async def close(self):
        if self.closed:
            raise SandboxDiedError("closed")
        self.closed = True
        await self._sandbox.close()


class DecodesOutput(Broken):
    async def run_python(self, *args, **kwargs):
        result = await self._sandbox.run_python(*args, **kwargs)
        return dataclasses.replace(result, stdout=result.stdout.decode("utf-8", "replace").encode())


def cases(*names):
    chosen = [case for case in CASES if f"{case.group}.{case.name}" in names]
    assert len(chosen) == len(names)
    return chosen


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (ForgetsTheStatus, "python.output_and_status"),
        (DoesNotCountDroppedOutput, "limits.output"),
        (DoesNotTellLimits, "limits.wall"),
        (SplitsArguments, "commands.arguments"),
        (ListsInAnyOrder, "files.folders"),
        (CannotBeClosedTwice, "life.closing_twice"),
        (DecodesOutput, "python.bytes_are_bytes"),
    ],
)
def test_a_backend_that_breaks_a_rule_is_found_out(kind, rule):
    async def open_broken(limits):
        return kind(await open_sandbox(SandboxSpec(limits=limits)))

    report = asyncio.run(check(open_broken, cases=cases(rule, "python.main_module")))
    assert [outcome.passed for outcome in report.outcomes] == [
        outcome.case.name == "main_module" for outcome in report.outcomes
    ]
    assert not report.passed
    assert f"1 of 2 rules kept\n{rule}: " in str(report)


def test_a_backend_that_does_not_open_fails_each_case_with_its_reason():
    async def open_nothing(limits):
        raise SandboxDiedError("no such luck")

    report = asyncio.run(check(open_nothing, cases=CASES[:3]))
    assert [outcome.reason for outcome in report.outcomes] == ["SandboxDiedError: no such luck"] * 3


def test_a_backend_that_hangs_is_given_up(monkeypatch):
    from execgym.sandbox.conformance import suite

    monkeypatch.setattr(suite, "CASE_SECONDS", 0.05)

    async def open_slowly(limits):
        await asyncio.sleep(1000)

    report = asyncio.run(check(open_slowly, cases=CASES[:1]))
    assert "no end within" in report.failures[0].reason


def test_nothing_checked_is_nothing_passed():
    assert not asyncio.run(check(None, cases=())).passed


def test_every_rule_is_a_sentence_and_a_test():
    assert len(CASES) >= 60
    assert len({(case.group, case.name) for case in CASES}) == len(CASES)
    for case in CASES:
        assert case.rule.endswith("."), case
        assert callable(getattr(SandboxConformance, f"test_{case.group}_{case.name}"))
