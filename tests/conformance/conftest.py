"""Every registered id with every task source, and an action or two for each domain."""

import importlib

import gymnasium
import pytest

from execgym.envs import datasets
from execgym.registration import env_ids


def sources_of(env_id):
    """Return the names of an id's task sources."""
    module = str(gymnasium.spec(env_id).entry_point).partition(":")[0]
    package = module.rpartition(".")[0]
    return importlib.import_module(f"{package}.sources").SOURCES


EVERY_ID = env_ids()
EVERY_SOURCE = [(env_id, tasks) for env_id in EVERY_ID for tasks in sources_of(env_id)]

# What each domain runs while it looks around, and what it hands in.
LOOKING = {
    "execgym/SQL-v0": '{"name": "run_sql", "arguments": {"query": "SELECT 1"}}',
    "execgym/Coding-v0": '{"name": "run_python", "arguments": {"code": "print(6 * 7)"}}',
    "execgym/DataAnalysis-v0": '{"name": "run_python", "arguments": {"code": "6 * 7"}}',
}
SUBMITTING = {
    "execgym/SQL-v0": "SELECT 1",
    "execgym/Coding-v0": "```python\nanswer = 42\n```",
    "execgym/DataAnalysis-v0": "```python\nprint(42)\n```",
}


def pytest_generate_tests(metafunc):
    if {"env_id", "tasks"} <= set(metafunc.fixturenames):
        metafunc.parametrize(("env_id", "tasks"), EVERY_SOURCE)
    elif "env_id" in metafunc.fixturenames:
        metafunc.parametrize("env_id", EVERY_ID)


@pytest.fixture(scope="session")
def imported_sets(public_sets, tmp_path_factory):
    """A folder into which the public sets have been imported."""
    home = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXECGYM_DATA", str(home))
        datasets.import_datasets(public_sets)
    return home


@pytest.fixture
def make(request, monkeypatch):
    """Make an env of an id; it is closed at the end of the test."""
    made = []

    def make_env(env_id, **kwargs):
        if kwargs.get("tasks", "generated") != "generated":
            monkeypatch.setenv("EXECGYM_DATA", str(request.getfixturevalue("imported_sets")))
        made.append(gymnasium.make(env_id, **kwargs))
        return made[-1]

    yield make_env
    for env in made:
        env.close()


@pytest.fixture
def looking():
    return LOOKING


@pytest.fixture
def submitting():
    return SUBMITTING
