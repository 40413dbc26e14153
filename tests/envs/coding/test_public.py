"""Public sets: references pass or are listed, splits are the sets' own, nothing trivial passes."""

import asyncio
import gzip
import json
import random

import numpy as np
import pytest

from execgym.envs.coding.defective import DEFECTIVE_TASKS
from execgym.envs.coding.gold import reference_answer
from execgym.envs.coding.judge import CodingJudge, same_as_python
from execgym.envs.coding.public import _arguments, _shaped
from execgym.envs.coding.sources import load_source
from execgym.envs.datasets import DatasetError
from execgym.envs.errors import UnknownTaskError
from execgym.judging.grading import grade_with_retry
from execgym.judging.verdict import Status

COUNTS = {"humaneval": 164, "humaneval_plus": 164, "mbpp": 974, "mbpp_plus": 399}
AT_ONCE = 4


@pytest.fixture
def data(public_sets, monkeypatch):
    monkeypatch.setenv("EXECGYM_DATA", str(public_sets / "coding"))


def all_ids(source):
    return [one for split in source.splits for one in source.ids(split)]


def grade_all(source, answers):
    """Grade pairs of an id and a source text; return the ids and verdicts."""
    judge = CodingJudge(source)

    async def run():
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(task_id, text):
            async with slots:
                artifacts = {"solution.py": text.encode()}
                task = source.task(task_id)
                verdict = await grade_with_retry(
                    lambda: judge.grade(task, artifacts), judge_version="test"
                )
                return task_id, verdict

        return await asyncio.gather(*(one(*pair) for pair in answers))

    return asyncio.run(run())


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_every_task_is_there_or_listed_with_a_reason(name, data):
    source = load_source(name)
    defective = DEFECTIVE_TASKS.get(name, {})
    assert len(all_ids(source)) + len(defective) == COUNTS[name]
    assert all(len(reason) > 20 for reason in defective.values())


@pytest.mark.data
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", COUNTS)
def test_every_reference_passes(name, part, data):
    source = load_source(name)
    chosen = all_ids(source)[part::4]
    verdicts = grade_all(source, [(one, reference_answer(one)) for one in chosen])
    assert [pair for pair in verdicts if pair[1].status is not Status.PASS] == []


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_no_trivial_answer_passes(name, data):
    source = load_source(name)
    answers = []
    for task_id in all_ids(source)[:: 60 if name == "mbpp" else 21]:
        entry = next(iter(source.hidden(task_id, random.Random(1)).code.proxies.values()))
        answers += [
            (task_id, text)
            for text in (
                "None",
                "pass",
                source.task(task_id).prompt,
                f"def {entry}(*a, **k): pass",
                f"def {entry}(*a, **k): raise SystemExit",
                f"import os\ndef {entry}(*a, **k): os._exit(0)",
                f"class E:\n    __eq__ = lambda s, o: True\ndef {entry}(*a, **k): return E()",
            )
        ]
    assert {verdict.status for _, verdict in grade_all(source, answers)} == {Status.FAIL}


@pytest.mark.data
def test_no_constant_passes_a_set_with_further_inputs(data):
    source = load_source("humaneval_plus")
    answers = []
    for task_id in all_ids(source)[::12]:
        entry = next(iter(source.hidden(task_id, random.Random(1)).code.proxies.values()))
        answers += [
            (task_id, f"def {entry}(*a, **k): return {value}")
            for value in ("0", "''", "[]", "True", "a[0]")
        ]
    verdicts = grade_all(source, answers)
    assert [task_id for task_id, verdict in verdicts if verdict.status is not Status.FAIL] == []


@pytest.mark.data
def test_mbpp_is_split_as_its_authors_did(data):
    source = load_source("mbpp")
    assert set(source.splits) == {"train", "test", "validation", "prompt"}
    numbers = {s: [int(one.split("/")[1]) for one in source.ids(s)] for s in source.splits}
    assert (min(numbers["test"]), max(numbers["test"])) == (11, 510)
    assert (min(numbers["train"]), max(numbers["train"])) == (602, 974)
    assert (min(numbers["validation"]), max(numbers["validation"])) == (511, 600)
    assert load_source("humaneval").splits == ("test",)


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_sampling_gives_every_level_and_known_ids(name, data):
    source = load_source(name)
    generator = np.random.default_rng(0)
    levels = {source.task(source.sample(generator, "test")).level for _ in range(60)}
    assert levels == set(source.levels("test"))
    assert {source.task(one).level for one in source.ids("test", 2)} == {2}


@pytest.mark.data
def test_a_prompt_shows_one_assertion_at_most_and_no_reference(data):
    for name in ("mbpp", "mbpp_plus"):
        source = load_source(name)
        for task_id in all_ids(source)[::20]:
            prompt = source.task(task_id).prompt
            assert prompt.count("assert ") == 1
            assert "def " not in prompt
            assert source.reference(task_id).strip() not in prompt


@pytest.mark.data
def test_a_defective_or_unknown_task_is_refused_with_the_reason(data):
    source = load_source("mbpp")
    with pytest.raises(UnknownTaskError, match="left out as defective: the tests build a tree"):
        source.task("mbpp/367")
    for task_id in ("mbpp/0", "mbpp/x", "humaneval/1", "", None, 3):
        with pytest.raises(UnknownTaskError, match="mbpp/"):
            source.task(task_id)
    with pytest.raises(UnknownTaskError, match="no coding task"):
        reference_answer("nowhere/1")


@pytest.mark.data
def test_further_inputs_are_mostly_kept(data):
    for name, least in (("humaneval_plus", 10), ("mbpp_plus", 20)):
        source = load_source(name)
        judge = CodingJudge(source)

        async def count(source=source, judge=judge):
            kept = []
            for task_id in all_ids(source)[5::40]:
                further = source.hidden(task_id, random.Random(1)).further
                if further is not None and further.inputs:
                    kept.append(len(await judge.expected_cases(task_id, further)))
            return kept

        kept = asyncio.run(count())
        assert min(kept) >= 1
        assert sum(kept) / len(kept) >= least


def test_a_malformed_file_is_an_error_that_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECGYM_DATA", str(tmp_path))
    folder = tmp_path / "humaneval"
    folder.mkdir()
    for lines in ("{", "[]", json.dumps({"task_id": "HumanEval/0"}), json.dumps({"task_id": "x"})):
        (folder / "HumanEval.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        with pytest.raises(DatasetError, match="humaneval"):
            load_source("humaneval")
    (folder / "HumanEval.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(DatasetError, match="cannot be read"):
        load_source("humaneval")


def test_lists_are_given_back_the_types_that_json_took():
    assert _shaped([1, [2, 3]], (1, (2,))) == (1, (2, 3))
    assert _shaped([[1], [2]], [(9,)]) == [(1,), (2,)]
    assert _shaped([1, 2], {5}) == {1, 2}
    assert _shaped([[1]], {5}) == [[1]]
    assert _shaped("ab", (1,)) == "ab"
    assert _arguments([[[1]], [[1]], [[2]]], [(0,)]) == (((1,),), ((2,),))


def test_values_of_public_sets_are_equal_as_python_has_it():
    assert same_as_python(1, 1.0, 0.0)
    assert same_as_python(True, 1, 0.0)
    assert same_as_python([1, 2], (1, 2), 0.0)
    assert same_as_python(0.1 + 0.2, 0.3, 0.0)
    assert not same_as_python(0.3, 0.31, 0.0)
    assert same_as_python(0.3, 0.305, 0.01)
    assert not same_as_python("1", 1, 0.0)
    assert not same_as_python(1.0, None, 0.0)
    assert not same_as_python([1], [1, 1], 0.0)
