"""The ids, and what `gymnasium.make` makes of them."""

import subprocess
import sys

import gymnasium
import pytest

import execgym
from execgym.registration import env_ids, register_envs


def test_registering_twice_does_nothing():
    before = dict(gymnasium.registry)
    register_envs()
    execgym.register_envs()
    assert dict(gymnasium.registry) == before


@pytest.mark.parametrize("env_id", env_ids())
def test_every_id_has_a_namespace_a_version_and_a_vector_entry_point(env_id):
    spec = gymnasium.spec(env_id)
    assert spec.namespace == "execgym"
    assert spec.version == 0
    assert spec.vector_entry_point
    assert not spec.nondeterministic


@pytest.mark.parametrize("env_id", env_ids())
def test_a_spec_survives_json_and_makes_an_equal_env(env_id):
    env = gymnasium.make(env_id, level=1, split="test", max_turns=3, limits={"cpu_seconds": 2.0})
    spec = type(env.spec).from_json(env.spec.to_json())
    other = gymnasium.make(spec)
    assert env.reset(seed=3)[0] == other.reset(seed=3)[0]
    env.close()
    other.close()


def test_importing_the_package_imports_no_env():
    code = (
        "import sys, execgym; "
        "print([name for name in sys.modules if name.startswith(('execgym.envs', 'torch'))])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert result.stdout.strip() == "[]"


def test_an_id_can_be_made_without_an_import():
    code = "import gymnasium; print(gymnasium.make('execgym:execgym/SQL-v0').spec.id)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert result.stdout.strip() == "execgym/SQL-v0"
