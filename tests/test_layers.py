"""Nothing imports upwards, and heavy libraries stay where they belong."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]

ALLOWED = {
    "sandbox": set(),
    "judging": {"sandbox"},
    "envs": {"judging", "sandbox"},
    "wrappers": {"envs", "judging", "sandbox"},
    "vector": {"envs", "judging", "sandbox"},
    "agents": {"vector", "wrappers", "envs", "judging", "sandbox"},
}
FORBIDDEN = {
    "sandbox": {"gymnasium", "torch", "numpy"},
    "judging": {"gymnasium", "torch"},
    "envs": {"torch"},
    "vector": {"torch"},
    "wrappers": {"torch"},
    "agents": set(),
}


def imports(path: pathlib.Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_folder_imports_only_what_lies_below_it(folder):
    for path in (ROOT / folder).rglob("*.py"):
        for name in imports(path):
            top, _, rest = name.partition(".")
            if top == "execgym" and rest.split(".")[0] in ALLOWED:
                assert rest.split(".")[0] in ALLOWED[folder] | {folder}, (path, name)


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_folder_keeps_out_what_never_belongs_in_it(folder):
    for path in (ROOT / folder).rglob("*.py"):
        assert not {name.partition(".")[0] for name in imports(path)} & FORBIDDEN[folder], path


@pytest.mark.parametrize("folder", sorted({*ALLOWED, "cli"}))
def test_nothing_unpickles_or_evaluates(folder):
    for path in (ROOT / folder).rglob("*.py"):
        names = {name.partition(".")[0] for name in imports(path)}
        assert not names & {"pickle", "marshal", "shelve", "dill"}, path
