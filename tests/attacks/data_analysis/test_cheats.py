"""How a model would get the reward of a data analysis task without the work. None of it pays."""

import json

import pytest

from execgym.envs.data_analysis.gold import reference_answer
from execgym.envs.data_analysis.tasks import SHOWN, case_of, generate
from execgym.judging.verdict import Status


@pytest.fixture(scope="module")
def program_task(find_task):
    return find_task("program", 1)


@pytest.fixture(scope="module")
def answer_task(find_task):
    return find_task("answer", 1)


def right_table(task_id):
    """Return the right table of the shown files, as somebody would type it in."""
    task = generate(task_id)
    header = ",".join(column.name for column in task.schema.columns)
    rows = [
        ",".join(
            "" if cell is None else str(float(cell) if hasattr(cell, "denominator") else cell)
            for cell in row
        )
        for row in case_of(task, SHOWN).rows
    ]
    return "\n".join([header, *rows, ""])


def writes(text):
    return f"with open('output/result.csv', 'w') as file:\n    file.write({text!r})\n"


def test_a_typed_in_table_is_right_on_the_shown_files_alone(grade, program_task):
    verdict = grade(program_task, writes(right_table(program_task)))
    assert verdict.status is Status.FAIL
    assert [check.passed for check in verdict.checks] == [True, False]


def test_typed_in_tables_of_the_fixed_hidden_files_do_not_pass_either(grade, program_task):
    """Should they ever leak: one filling is made for each grading alone."""
    task = generate(program_task)
    known = {}
    for name in (SHOWN, "hidden 1", "hidden 2"):
        case = case_of(task, name)
        path = next(path for path in case.files if path.startswith("input/"))
        header = ",".join(column.name for column in task.schema.columns)
        rows = [
            ",".join(str(float(cell) if hasattr(cell, "denominator") else cell) for cell in row)
            for row in case.rows
        ]
        known[case.files[path]] = "\n".join([header, *rows, ""])
    source = (
        f"known = {known!r}\ndata = open({path!r}, 'rb').read()\n"
        "open('output/result.csv', 'w').write(known[data] if data in known else '')\n"
    )
    verdict = grade(program_task, source)
    assert verdict.status is Status.FAIL
    assert verdict.checks[0].passed
    assert "secret" not in verdict.reason


HEADER = "HEADER"


@pytest.mark.parametrize(
    "source",
    [
        # Nothing, or something empty.
        "pass",
        "0",
        "import sys; sys.exit(0)",
        "import os; os._exit(0)",
        writes(""),
        writes(HEADER),
        writes(HEADER + "nan,nan,nan,nan\n" * 4),
        writes(HEADER + ",,,\n" * 4),
        # The input for the output.
        "import glob, shutil\nshutil.copy(glob.glob('input/*')[0], 'output/result.csv')",
        "import glob, os\nos.symlink(os.path.abspath(glob.glob('input/*')[0]), "
        "'output/result.csv')",
        # No regular file, or one that cannot be read to its end.
        "import os\nos.symlink('/dev/zero', 'output/result.csv')",
        "import os\nos.mkfifo('output/result.csv')",
        "import os\nos.mkdir('output/result.csv')",
        "open('output/result.csv', 'w').write('x,y\\n' * 10**6)",
        "open('output/result.csv', 'w').truncate(2**26)",
        # Objects that are equal to everything stay in the process.
        "class E(str):\n    __eq__ = lambda s, o: True\n    __hash__ = str.__hash__\n"
        "open('output/result.csv', 'w').write(E('x'))",
        # Libraries and start-up files for a process that comes later: there is none.
        "open('pandas.py', 'w').write('raise SystemExit(0)')\n"
        "open('sitecustomize.py', 'w').write('raise SystemExit(0)')",
        "import pandas as pd\npd.testing.assert_frame_equal = lambda *a, **k: None\n"
        "pd.DataFrame.equals = lambda *a: True\npd.DataFrame().to_csv('output/result.csv')",
        # Somebody who writes after the bell.
        "import os, time\nif os.fork():\n    os._exit(0)\ntime.sleep(1)\n"
        "open('output/result.csv', 'w').write('late')",
        # Talking to the channel, which no judge listens to.
        "import sandbox_channel\nsandbox_channel.send(b'PASS')",
        "import os\nos.write(3, b'x' * 100)",
        # Looking for what is hidden.
        "import glob\nfound = [p for p in glob.glob('/**/*', recursive=True) if 'hidden' in p]\n"
        "open('output/result.csv', 'w').write(repr(found))",
        "import execgym.envs.data_analysis.tasks",
        "import gc\nopen('output/result.csv', 'w').write(repr([o for o in gc.get_objects()"
        " if type(o) is tuple and len(o) == 4])[:100000])",
        "while True: pass",
        "import time; time.sleep(1000)",
        "raise ValueError",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "(",
        "x" * 300_000,
        "\0",
    ],
)
def test_a_program_that_computes_nothing_fails(grade, program_task, source, monkeypatch):
    from execgym.envs.data_analysis import judge as judging
    from execgym.sandbox import Limits

    monkeypatch.setattr(judging, "LIMITS", Limits(cpu_seconds=1.0, wall_seconds=3.0))
    header = ",".join(column.name for column in generate(program_task).schema.columns)
    verdict = grade(program_task, source.replace(HEADER, header + "\\n"))
    assert verdict.status is Status.FAIL
    assert verdict.score == 0.0


def test_nothing_but_the_program_is_carried_to_the_judge(grade, program_task):
    """A table that lies in the episode's workspace is not there when the program is judged."""
    source = "import os\nassert os.path.exists('output/other.csv')\n" + reference_answer(
        program_task
    )
    assert grade(program_task, source).status is Status.FAIL


def test_fillings_do_not_see_each_other(grade, program_task):
    source = (
        "import os, sys\nassert not os.path.exists('/tmp/seen') and not hasattr(sys, 'seen')\n"
        "open('/tmp/seen', 'w').write('1')\nsys.seen = 1\n" + reference_answer(program_task)
    )
    assert grade(program_task, source).status is Status.PASS


def test_some_right_cells_earn_nothing(grade, find_task):
    task_id = find_task("cleaning", 4)
    task = generate(task_id)
    key = task.family.facts.fields[-2].name
    place = reference_answer(task_id).rindex(f"{task.family.facts.name}.to_csv")
    source = reference_answer(task_id)
    spoilt = f"{source[:place]}{task.family.facts.name}.loc[0, '{key}'] = 99\n{source[place:]}"
    verdict = grade(task_id, spoilt)
    assert (verdict.status, verdict.score) == (Status.FAIL, 0.0)
    assert 0.9 < verdict.checks[0].value < 1.0


@pytest.mark.parametrize(
    "change",
    [
        lambda right: {},
        lambda right: dict.fromkeys(right),
        lambda right: dict.fromkeys(right, 0),
        lambda right: dict.fromkeys(right, ""),
        lambda right: dict.fromkeys(right, True),
        lambda right: dict.fromkeys(right, "NaN"),
        lambda right: {**right, "extra": 1},
        lambda right: dict(list(right.items())[1:]),
        lambda right: {name: [value] for name, value in right.items()},
        lambda right: {name: [value, 0] for name, value in right.items()},
        lambda right: {name: {"value": value} for name, value in right.items()},
        lambda right: {name.upper(): value for name, value in right.items()},
        lambda right: [right],
    ],
)
def test_an_answer_that_says_nothing_or_more_than_was_asked_fails(grade, answer_task, change):
    right = json.loads(reference_answer(answer_task))
    assert grade(answer_task, json.dumps(change(right))).status is Status.FAIL


def test_each_value_of_an_answer_counts(grade, answer_task):
    right = json.loads(reference_answer(answer_task))
    for name, value in right.items():
        wrong = value + "x" if isinstance(value, str) else value + 1
        assert grade(answer_task, json.dumps({**right, name: wrong})).status is Status.FAIL


@pytest.mark.parametrize("level", range(1, 6))
def test_a_blind_guess_earns_hardly_anything(level):
    for seed in range(12):
        task = generate(f"generated/train/{level}/{seed}")
        if task.work.kind == "answer":
            row = case_of(task, SHOWN).rows[0]
            assert task.work.blind_guess(task.family, row) <= 1e-5


def test_a_program_handed_in_for_an_answer_is_no_answer(grade, answer_task):
    assert grade(answer_task, generate(answer_task).reference).status is Status.FAIL


def test_the_prompt_itself_is_no_work(grade, program_task, answer_task):
    from execgym.envs.data_analysis.tasks import GeneratedSource

    for task_id in (program_task, answer_task):
        assert grade(task_id, GeneratedSource().task(task_id).prompt).status is Status.FAIL
