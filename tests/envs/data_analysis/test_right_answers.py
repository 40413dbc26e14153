"""Right work passes however it is written."""

import json

import pytest

from execgym.envs.data_analysis.gold import reference_answer
from execgym.envs.data_analysis.tasks import generate
from execgym.judging.verdict import Status

LAST_LINE = 'result.to_csv("output/result.csv", index=False)'


@pytest.fixture(scope="module")
def task_id(find_task):
    return find_task("program", 2, lambda task: any(c.places for c in task.schema.columns))


@pytest.mark.parametrize(
    "ending",
    [
        'result.to_csv("output/result.csv")',
        'result[result.columns[::-1]].to_csv("output/result.csv", index=False)',
        'result.sample(frac=1).to_csv("output/result.csv", index=False)',
        'result.to_csv("output/result.csv", index=False, encoding="utf-8-sig")',
        'result.to_csv("output/result.csv", index=False, lineterminator="\\r\\n")',
        'result.to_csv("output/result.csv", index=False, na_rep="NA", quoting=1)',
        'result.to_csv("output/result.csv", index=False, float_format="%.6f")',
        'result.to_csv("output/result.csv", index=False, float_format="%.12e")',
        'result.round(2).to_csv("output/result.csv", index=False)',
        'result.astype({c: "float64" for c in result.select_dtypes("number")})'
        '.to_csv("output/result.csv", index=False)',
        'result.convert_dtypes().to_csv("output/result.csv", index=False)',
        'result.astype({c: "category" for c in result.select_dtypes(exclude="number")})'
        '.to_csv("output/result.csv", index=False)',
        'result.rename(columns=lambda name: f" {name} ").to_csv("output/result.csv", index=False)',
        'import pathlib\nresult.to_csv(pathlib.Path(__file__).parent / "output" / "result.csv")',
        'if __name__ == "__main__":\n    result.to_csv("output/result.csv", index=False)',
        'import os\nos.makedirs("output", exist_ok=True)\n'
        'result.to_csv(os.path.join(os.getcwd(), "output", "result.csv"))',
        'import sys\nresult.to_csv("output/result.csv")\nprint("x" * 10**6)\nprint("é你", '
        "file=sys.stderr)\nsys.exit(0)",
        'open("output/notes.txt", "w").write("1")\nresult.to_csv("output/result.csv")',
        'import warnings\nwarnings.warn("odd")\nresult.to_csv("output/result.csv")',
        "import concurrent.futures as f\nwith f.ThreadPoolExecutor(2) as pool:\n"
        '    pool.submit(result.to_csv, "output/result.csv").result()',
        'import subprocess, sys\nresult.to_csv("output/part.csv")\n'
        'subprocess.run(["mv", "output/part.csv", "output/result.csv"], check=True)',
    ],
)
def test_a_right_table_passes_however_it_is_written(grade, task_id, ending):
    source = reference_answer(task_id)
    assert LAST_LINE in source
    verdict = grade(task_id, source.replace(LAST_LINE, ending))
    assert verdict.status is Status.PASS, verdict


def test_a_program_may_begin_with_a_byte_order_mark_and_have_crlf_line_ends(grade, task_id):
    source = reference_answer(task_id).replace("\n", "\r\n")
    assert grade(task_id, b"\xef\xbb\xbf" + source.encode()).status is Status.PASS


@pytest.mark.parametrize("level", range(1, 6))
def test_an_answer_passes_however_its_json_is_written(grade, find_task, level):
    task_id = find_task("answer", level)
    columns = {column.name: column for column in generate(task_id).work.columns}
    right = json.loads(reference_answer(task_id))
    for form in (
        right,
        dict(reversed(right.items())),
        {name: str(value) for name, value in right.items()},
        {name: f" {value} " if isinstance(value, str) else value for name, value in right.items()},
        {name: value if isinstance(value, str) else float(value) for name, value in right.items()},
        {
            name: f"{value:.{columns[name].places}f}" if isinstance(value, float) else value
            for name, value in right.items()
        },
    ):
        assert grade(task_id, json.dumps(form, indent=2)).status is Status.PASS, form
