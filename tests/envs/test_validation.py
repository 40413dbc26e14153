"""A task that is broken in one way is caught by that way's check, and a sound one is clean."""

import base64
import itertools

import pytest

from execgym.envs.answers import TaskAnswers
from execgym.envs.core import ExecEnv, ToolResult
from execgym.envs.task import Task
from execgym.envs.tools import tool
from execgym.envs.validation import play_references, validate_task, validate_tasks
from execgym.judging.verdict import Status, Verdict
from execgym.sandbox import run_sync

TASK_ID = "sums/test/1/0"
SECRET = "the sum of seventeen and four is 21"
ANSWERS = TaskAnswers(
    right={"reference": "21", "in words": "twenty-one"},
    wrong={"one more": "22", "a range": "20 or 21"},
    secrets=(SECRET,),
)


class Source:
    splits = ("test",)

    def __init__(self, faults):
        self._faults = faults

    def levels(self, split):
        return (2,) if "level" in self._faults else (1,)

    def ids(self, split, level=None):
        return ["another"] if "unlisted" in self._faults else [TASK_ID]

    def sample(self, generator, split, level=None):
        return TASK_ID

    def task(self, task_id):
        prompt = "What is 17 + 4?"
        files = {}
        if "leaking prompt" in self._faults:
            prompt += f" ({SECRET})"
        if "leaking file" in self._faults:
            files["notes.bin"] = b"\0" + base64.b64encode(SECRET.encode())
        if "moody prompt" in self._faults:
            prompt += f" Ask number {next(self._faults['moody prompt'])}."
        return Task(id=task_id, domain="sums", prompt=prompt, level=1, split="test", files=files)


class Judge:
    def __init__(self, faults):
        self._faults = faults

    async def grade(self, task, artifacts):
        if "judge error" in self._faults:
            raise RuntimeError("the judge has lost its papers")
        text = artifacts["answer"].decode()
        passed = text in ("21", "twenty-one")
        if "strict" in self._faults:
            passed = text == "21"
        if "lenient" in self._faults:
            passed = passed or "21" in text
        if "empty passes" in self._faults:
            passed = passed or not text.strip()
        if "nothing passes" in self._faults:
            passed = False
        score = 1.0 if passed else 0.0
        reason = "Right." if passed else "Wrong."
        if "moody judge" in self._faults:
            score -= 0.01 * next(self._faults["moody judge"]) * passed
        if "telling judge" in self._faults:
            reason = f"Expected: {SECRET}"
        return Verdict(
            status=Status.PASS if passed else Status.FAIL,
            score=score,
            reason=reason,
            judge_version="sums-1",
        )


class Sums(ExecEnv):
    domain = "sums"
    default_tool = "submit"

    def __init__(self, faults=(), **options):
        self._faults = {name: itertools.count() for name in faults}
        super().__init__(**options)

    @tool
    async def submit(self, answer: str) -> ToolResult:
        """Hand in the answer.

        Args:
            answer: The number.
        """
        return ToolResult(observation="", artifacts={"answer": answer.encode()})

    def _load_source(self, tasks):
        return Source(self._faults)

    def _make_judge(self, backend, runtime, image):
        return Judge(self._faults)

    def _shaping(self, artifacts, verdict):
        return 0.2 if "paid failure" in self._faults else 0.0

    async def astep(self, action):
        observation, reward, *rest = await super().astep(action)
        if "endless reward" in self._faults:
            reward *= float("inf")
        if "whole reward" in self._faults:
            reward = int(reward)
        if "odd observation" in self._faults:
            observation += "\ud800"
        return observation, reward, *rest

    def __reduce__(self):
        made, arguments = super().__reduce__()
        return made, (*arguments, SECRET) if "leaking pickle" in self._faults else arguments


def report(*faults):
    return run_sync(validate_task(Sums(faults), TASK_ID, ANSWERS))


def test_a_sound_task_is_clean():
    found = report()
    assert found.findings == ()
    assert (found.right, found.refused, found.accepted) == (2, 0, 0)
    assert found.wrong > 10


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("nothing passes", "oracle_max"),
        ("judge error", "oracle_max"),
        ("judge error", "right_answers"),
        ("strict", "right_answers"),
        ("lenient", "adversarial_floor"),
        ("empty passes", "floor_gap"),
        ("paid failure", "floor_gap"),
        ("moody judge", "verifier_determinism"),
        ("moody prompt", "seed_control"),
        ("leaking prompt", "no_solution_leakage"),
        ("leaking file", "no_solution_leakage"),
        ("leaking pickle", "no_solution_leakage"),
        ("telling judge", "no_solution_leakage"),
        ("endless reward", "reward_well_formed"),
        ("whole reward", "reward_well_formed"),
        ("odd observation", "observation_schema"),
        ("level", "task_declaration_accuracy"),
        ("unlisted", "task_declaration_accuracy"),
    ],
)
def test_a_fault_is_caught_by_its_check(fault, check):
    assert check in {finding.check for finding in report(fault).findings}


def test_refused_right_answers_and_accepted_wrong_ones_are_counted():
    assert report("strict").refused == 1
    assert report("lenient").accepted == 1


def test_a_finding_names_the_task_and_the_answer():
    found = report("lenient").findings
    assert [(one.task_id, one.detail) for one in found] == [(TASK_ID, "a range: pass: Right.")]


def test_equal_tasks_have_equal_fingerprints_and_unequal_ones_do_not():
    assert report().fingerprint == report().fingerprint
    assert report().fingerprint != report("leaking prompt").fingerprint


def test_playing_the_references_gives_the_same_fingerprints():
    played = run_sync(play_references(Sums, lambda task_id: "21", [TASK_ID]))
    assert played == {TASK_ID: report().fingerprint}


def test_tasks_are_reported_in_their_order():
    ids = [f"sums/test/1/{number}" for number in range(5)]
    found = run_sync(validate_tasks(Sums, lambda task_id: ANSWERS, ids, jobs=3))
    assert [one.task_id for one in found] == ids
