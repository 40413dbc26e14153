"""Right and wrong scripts for a change, told apart by databases that the judge never uses.

Only trusted code imports this module.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from execgym.envs.answers import TaskAnswers
from execgym.envs.sql.changes.change import HiddenChange
from execgym.envs.sql.changes.exams import exam
from execgym.envs.sql.changes.hidden import hidden_change, variants
from execgym.envs.sql.changes.mutants import script_mutants, typed_in
from execgym.envs.sql.changes.state import DatabaseState
from execgym.envs.sql.changes.trial import Result, attempt, wrong_in
from execgym.envs.sql.reference import quote

_WORLDS = range(2000, 2012)
_SHORTEST_SECRET = 32


def answers(task_id: str) -> TaskAnswers:
    """Return scripts that are right and scripts that are wrong.

    Right ones are the reference, other scripts of the template's, and the reference in other words.
    Wrong ones are cheats, and mutants that leave another state in some database that is in no exam.

    Raises:
        UnknownTaskError: No task has this id.
    """
    task = hidden_change(task_id)
    script = task.change.script
    paper = exam(task_id)
    wrong = dict(_cheats(task)) | _wrong_mutants(task_id, task, paper.expected[0])
    secrets = [script]
    for expected in paper.expected[1:]:
        for table in expected.state.tables.values():
            text = repr(list(table.rows))
            if len(text) >= _SHORTEST_SECRET:
                secrets.append(text)
    return TaskAnswers(right=dict(_right(task)), wrong=wrong, secrets=tuple(secrets))


def _right(task: HiddenChange) -> Iterator[tuple[str, str]]:
    script = task.change.script
    yield "reference", script
    for number, other in enumerate(task.change.alternatives, start=1):
        yield f"alternative {number}", other
    yield "fenced block", f"I would run this:\n```sql\n{script}\n```\n"
    yield "comments", f"-- first; then\n{script}\n/* done; */ -- all"
    yield "Windows lines", script.replace("\n", "\r\n")
    if "BEGIN" not in script:
        yield "one transaction", f"BEGIN TRANSACTION;\n{script}\nCOMMIT;"
        yield "a savepoint", f"SAVEPOINT before; {script} RELEASE before"
    yield "looks before and after", f"SELECT 1;\n{script}\nSELECT name FROM sqlite_master;"
    yield (
        "a scratch table that goes",
        (f"CREATE TEMP TABLE scratch AS SELECT 1 AS one;\n{script}\nDROP TABLE scratch;"),
    )


def _cheats(task: HiddenChange) -> Iterator[tuple[str, str]]:
    script = task.change.script
    before = attempt(task.change, "", task.shown).state
    name, state = max(before.tables.items(), key=lambda item: len(item[1].rows))
    table, column = f'"{name}"', f'"{state.columns[0]}"'
    yield "looks only", "SELECT 1;"
    yield "reads the schema", "SELECT sql FROM sqlite_master"
    yield "reference in a comment", f"SELECT 1; /* {script} */"
    yield "reference in a text", f"SELECT {quote(script)};"
    yield "taken back", f"SAVEPOINT a; {script} ROLLBACK TO a; RELEASE a;"
    if "BEGIN" not in script:
        yield "never committed", f"BEGIN;\n{script}"
    yield "a table left behind", f"{script}\nCREATE TABLE left_behind (a);"
    yield "a view left behind", f"{script}\nCREATE VIEW left_behind AS SELECT 1;"
    yield (
        "a trigger left behind",
        (f"{script}\nCREATE TRIGGER left_behind AFTER DELETE ON {table} BEGIN SELECT 1; END;"),
    )
    yield "an index left behind", f"{script}\nCREATE INDEX left_behind ON {table} ({column});"
    yield (
        "a row too many gone",
        (f"{script}\nDELETE FROM {table} WHERE id = (SELECT MIN(id) FROM {table});"),
    )
    yield "a failing statement behind it", f"{script}\nSELECT * FROM no_such_table;"
    yield "another database", f"ATTACH ':memory:' AS other;\n{script}"
    yield "on temporary tables of the same names", _on_shadows(before, script)
    yield (
        "a foreign key to nothing",
        (f"{script}\nCREATE TABLE left_behind (a REFERENCES {table}({column}));"),
    )
    yield (
        "a column that cannot be read",
        (
            f"{script}\nALTER TABLE {table} ADD COLUMN left_behind AS "
            "(abs(-9223372036854775807 - 1));"
        ),
    )
    for number, wrong in enumerate(task.change.wrongs, start=1):
        yield f"looks right {number}", wrong


def _on_shadows(state: DatabaseState, script: str) -> str:
    """Return a script that makes the change, but in temporary tables that stand before the real."""
    lines = ["PRAGMA foreign_keys = OFF;"]
    for name, table in state.tables.items():
        columns = ", ".join(
            f'"{column}" {facts[0]}{" PRIMARY KEY" if facts[2] else ""}'
            for column, facts in table.facts.items()
        )
        lines.append(f'CREATE TEMP TABLE "{name}" ({columns});')
        lines.append(f'INSERT INTO temp."{name}" SELECT * FROM main."{name}";')
    return "\n".join([*lines, script])


def _wrong_mutants(task_id: str, task: HiddenChange, shown: Result) -> dict[str, str]:
    change = task.change
    before = attempt(change, "", task.shown).state
    # To type a new row in may be just what was asked for.
    left = [
        *typed_in(before, shown.state),
        *script_mutants(change.script, task.columns),
    ]
    wrong: dict[str, str] = {}
    generator = random.Random(f"answers/{task_id}")  # noqa: S311
    for database, expected in variants(task_id, generator, _WORLDS):
        found = [one for one in left if wrong_in(expected, attempt(change, one, database))]
        wrong |= {f"typed in or mutant: {one}": one for one in found}
        left = [one for one in left if one not in wrong.values()]
    return wrong
