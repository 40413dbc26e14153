"""The judge passes right queries and nothing else."""

import pytest
import sqlglot

from execgym.envs.sql.engines import SQLITE
from execgym.envs.sql.exams import exam, reference_of, surviving_mutants
from execgym.envs.sql.execution import run_in_sandbox
from execgym.envs.sql.gold import reference_answer
from execgym.envs.sql.judge import ShownDatabaseJudge, SQLJudge
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.reference import expected_rows, quote
from execgym.envs.sql.tasks import DATABASE_FILE, LEVELS, GeneratedSource, generate
from execgym.judging.verdict import Status
from execgym.sandbox import SandboxSpec, open_sandbox, run_sync

SOURCE = GeneratedSource()


def task_of_kind(kind, level, split="train"):
    return next(
        task_id
        for seed in range(2000)
        if generate(task_id := f"generated/{split}/{level}/{seed}").question.kind == kind
    )


def shown_rows(task_id):
    database = SOURCE.task(task_id).files[DATABASE_FILE]
    return expected_rows(reference_of(task_id), database).rows


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_every_reference_passes(split, level, sample, grade):
    ids = sample(split, level, 25, seed=7)
    verdicts = grade.all([(SOURCE.task(i), reference_answer(i)) for i in ids])
    failed = [(i, v.reason) for i, v in zip(ids, verdicts, strict=True) if v.score != 1.0]
    assert not failed


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_trivial_passes(level, sample, grade):
    pairs = []
    for task_id in sample("train", level, 4, seed=8):
        task = SOURCE.task(task_id)
        row = shown_rows(task_id)[0]
        pairs += [
            (task, query)
            for query in (
                "",
                " ;",
                "None",
                "0",
                '""',
                "[]",
                "True",
                "NULL",
                task.prompt,
                "SELECT 1",
                "SELECT 0",
                "SELECT NULL",
                "SELECT ''",
                "SELECT COUNT(*)",
                "SELECT COUNT(*) as count",
                "SELECT * FROM sqlite_master",
                "SELECT " + ", ".join(quote(value) for value in row),
                "VALUES "
                + ", ".join(f"({', '.join(map(quote, each))})" for each in shown_rows(task_id)),
                *(f"SELECT * FROM {table.name}" for table in generate(task_id).question.tables),
                *(
                    f"SELECT COUNT(*) FROM {table.name} WHERE 1 = 0"
                    for table in generate(task_id).question.tables
                ),
            )
        ]
    for (task, query), verdict in zip(pairs, grade.all(pairs), strict=True):
        assert verdict.status is Status.FAIL, (task.id, query)
        assert verdict.score == 0.0


def test_mutants_of_the_reference_fail(sample, grade):
    pairs = []
    for level in LEVELS:
        for task_id in sample("train", level, 4, seed=9):
            equivalent = surviving_mutants(task_id)
            wrong = [m for m in mutants(reference_of(task_id).sql) if m not in equivalent]
            assert len(equivalent) <= 4
            pairs += [(SOURCE.task(task_id), mutant) for mutant in wrong]
    verdicts = grade.all(pairs)
    passed = [(t.id, q) for (t, q), v in zip(pairs, verdicts, strict=True) if v.score]
    assert len(pairs) > 60
    assert not passed


def test_a_count_without_a_table_fails_where_one_is_the_right_count(grade):
    # A policy learned this from a judge that looks at the shown database only.
    task_id = next(
        i for seed in range(5000) if shown_rows(i := f"generated/train/1/{seed}") == ((1,),)
    )
    cheat = "SELECT COUNT(*) as count"
    (verdict,) = grade(task_id, cheat)
    assert verdict.status is Status.FAIL
    grader = type(grade)(ShownDatabaseJudge())
    (verdict,) = grader(task_id, cheat)
    assert verdict.status is Status.PASS


@pytest.mark.parametrize("kind", ["order", "top"])
def test_the_right_rows_in_no_order_fail_where_one_is_asked_for(kind, grade):
    # So did it learn to leave ORDER BY out.
    task_id = next(
        i
        for seed in range(3000)
        if generate(i := f"generated/train/2/{seed}").question.kind == kind
        and len(shown_rows(i)) > 2
    )
    right = reference_answer(task_id)
    cheat = right.partition(" ORDER BY ")[0]
    if kind == "top":
        names = ", ".join(quote(row[0]) for row in shown_rows(task_id))
        column = cheat.removeprefix("SELECT ").partition(" FROM ")[0]
        cheat += f" WHERE {column} IN ({names})"
    right_verdict, verdict = grade(task_id, right, cheat)
    assert right_verdict.status is Status.PASS
    assert verdict.status is Status.FAIL
    (verdict,) = type(grade)(ShownDatabaseJudge())(task_id, cheat)
    assert verdict.status is Status.PASS


def test_a_right_answer_may_be_written_otherwise(grade):
    task_id = task_of_kind("group_count", 2)
    table = generate(task_id).question.tables[0].name
    column = reference_answer(task_id).removeprefix("SELECT ").partition(",")[0]
    verdicts = grade(
        task_id,
        f"select {column}, count(*) as n from {table} group by {column};",
        f"-- mine\nSELECT x.{column} AS c, SUM(1) FROM {table} AS x GROUP BY 1 ORDER BY 2 DESC",
        f"WITH g AS (SELECT DISTINCT {column} AS c FROM {table}) "
        f"SELECT c, (SELECT COUNT(*) FROM {table} t WHERE t.{column} = c) FROM g",
        f'SELECT "{column}", COUNT(id) * 1.0 FROM [{table}] GROUP BY `{column}` ; ',
    )
    assert [verdict.reason for verdict in verdicts] == ["The rows are the right ones."] * 4


@pytest.mark.parametrize("level", LEVELS)
def test_a_reference_in_another_form_passes(level, sample, grade):
    pairs = []
    for task_id in sample("test", level, 8, seed=11):
        task, sql = SOURCE.task(task_id), reference_of(task_id).sql
        tree = sqlglot.parse_one(sql, read="sqlite")
        pairs += [
            (task, tree.sql("sqlite", pretty=True, normalize_functions="lower")),
            (task, f"/* é 漢 */ {sql} -- the end"),
            (task, f"\n\n{sql}\n;\n"),
        ]
        if tree.args.get("order") is None:
            names = ", ".join("abcdef"[: len(tree.expressions)])
            pairs += [
                (task, f"SELECT * FROM ({sql})"),
                (task, f"WITH answer({names}) AS ({sql}) SELECT {names} FROM answer ORDER BY 1"),
                (task, f"SELECT * FROM ({sql}) UNION ALL SELECT * FROM ({sql}) WHERE 1 = 0"),
            ]
    verdicts = grade.all(pairs)
    assert not [(q, v.reason) for (_, q), v in zip(pairs, verdicts, strict=True) if not v.score]


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE {table}",
        "DELETE FROM {table}",
        "CREATE TEMP TABLE {table} (a); SELECT 1",
        "CREATE TEMP VIEW {table} AS SELECT 1",
        "ATTACH 'x' AS y",
        "PRAGMA writable_schema = 1",
        "{right}; DROP TABLE {table}",
        "{right}; SELECT 1",
        "EXPLAIN {right}",
        "SELECT * FROM ({right}) WHERE 1 = 0",
        "SELECT *, 1 FROM ({right})",
        "SELECT * FROM ({right}) UNION ALL SELECT * FROM ({right})",
        "WITH {table} AS (SELECT 1 AS id) SELECT COUNT(*) FROM {table}",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n",
        "SELECT COUNT(*) FROM {table} a, {table} b, {table} c, {table} d, {table} e, {table} f",
        "SELECT printf('%.*c', 100000000, 'x') FROM {table}",
        "SELECT load_extension('/lib/x86_64-linux-gnu/libm.so.6')",
        "SELECT writefile('/tmp/x', 'y')",
        "SELECT '\x00'",
    ],
)
def test_a_cheat_fails_and_leaves_the_next_submission_alone(query, grade):
    task_id = task_of_kind("aggregate", 1)
    right = reference_answer(task_id)
    table = generate(task_id).question.tables[0].name
    cheat, after = grade(task_id, query.format(right=right, table=table), right)
    assert cheat.status is Status.FAIL
    assert after.status is Status.PASS


@pytest.mark.parametrize("data", [b"\xff\xfe", b"SELECT '" + b"x" * 200_000 + b"'", b"   "])
def test_what_is_no_query_fails(data, grade):
    (verdict,) = grade("generated/train/1/1", data)
    assert verdict.status is Status.FAIL


def test_a_missing_answer_fails():
    task = SOURCE.task("generated/train/1/1")
    assert run_sync(SQLJudge().grade(task, {})).status is Status.FAIL


def test_text_that_only_lossy_decoding_makes_equal_is_wrong(grade):
    task_id = task_of_kind("look_up", 1)
    right = reference_answer(task_id)
    column = right.removeprefix("SELECT ").partition(" FROM ")[0]
    lossy = right.replace(column, f"CAST(CAST({column} AS BLOB) || x'ff' AS TEXT)", 1)
    as_blob = right.replace(column, f"CAST({column} AS BLOB)", 1)
    assert [v.status for v in grade(task_id, lossy, as_blob)] == [Status.FAIL] * 2


def test_swapped_columns_fail_unless_their_names_say_so(grade):
    task_id = task_of_kind("group_aggregate", 2)
    right = reference_answer(task_id)
    first, second = right.removeprefix("SELECT ").partition(" FROM ")[0].split(", ")
    swapped = right.replace(f"{first}, {second}", f"{second}, {first}", 1)
    blind = right.replace(f"{first}, {second}", f"{second} AS a, {first} AS b", 1)
    assert [v.status for v in grade(task_id, swapped, blind)] == [Status.PASS, Status.FAIL]


def test_a_verdict_names_its_judge_and_its_checks_and_no_hidden_value(grade):
    task_id = task_of_kind("aggregate", 1)
    (value,) = shown_rows(task_id)[0]
    (verdict,) = grade(task_id, f"SELECT {quote(value)}")
    assert verdict.judge_version == SQLJudge.version
    assert {check.name: check.passed for check in verdict.checks} == {
        "runs": False,
        "shown rows": True,
        "hidden rows": False,
    }
    for answers in exam(task_id).alternatives:
        for answer in answers[1:]:
            assert str(answer.rows[0][0]) not in repr(verdict)


def test_judging_is_the_same_each_time(grade, sample):
    for task_id in sample("train", 3, 3):
        right = reference_answer(task_id)
        assert len({repr(v) for v in grade(task_id, right, right, right)}) == 1


def test_the_expected_rows_never_enter_the_sandbox(monkeypatch, sample):
    sent = []

    async def open_and_listen(spec):
        sandbox = await open_sandbox(spec)
        start = sandbox.start_python

        async def start_python(*arguments, **options):
            process = await start(*arguments, **options)
            send = process.send

            async def listen(message):
                sent.append(message)
                await send(message)

            monkeypatch.setattr(process, "send", listen, raising=False)
            return process

        monkeypatch.setattr(sandbox, "start_python", start_python, raising=False)
        return sandbox

    monkeypatch.setattr("execgym.envs.sql.judge.open_sandbox", open_and_listen)
    task_id = task_of_kind("aggregate_where", 2)
    verdict = run_sync(SQLJudge().grade(SOURCE.task(task_id), {"answer.sql": b"SELECT 1"}))
    assert verdict.status is Status.FAIL
    (message,) = sent
    assert reference_answer(task_id).encode() not in message
    for answer in exam(task_id).alternatives[0]:
        assert quote(answer.rows[0][0]).encode() not in message


def test_a_killed_query_is_the_candidates_failure_and_a_broken_driver_is_ours():
    async def broken():
        async with await open_sandbox(SandboxSpec(template=SQLITE.template)) as sandbox:
            await run_in_sandbox(sandbox, None, [b"no database"])

    with pytest.raises(RuntimeError, match="driver"):
        run_sync(broken())


def test_the_whole_database_comes_through_the_sandbox(grade):
    task = SOURCE.task("generated/train/1/3")

    async def count():
        async with await open_sandbox(SandboxSpec(template=SQLITE.template)) as sandbox:
            answers, _ = await run_in_sandbox(
                sandbox, "SELECT COUNT(*) FROM sqlite_master", [task.files[DATABASE_FILE]]
            )
            return answers[0].rows

    assert run_sync(count()) == ((3,),)
