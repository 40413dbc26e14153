"""Episodes on the Docker backends: the reference answer is right there, too."""

import gymnasium
import pytest

import execgym  # noqa: F401
from execgym.cli.sources import reference_answer

pytestmark = pytest.mark.usefixtures("base_image")


@pytest.mark.parametrize("docker_backend", ["docker", "docker-per-episode"])
@pytest.mark.parametrize("env_id", ["execgym/SQL-v0", "execgym/Coding-v0"])
def test_a_reference_answer_is_right_on_each_docker_backend(env_id, docker_backend):
    env = gymnasium.make(env_id, backend=docker_backend, disable_env_checker=True)
    answer = reference_answer(env_id)
    for seed in (1, 2):
        _, info = env.reset(seed=seed)
        _, reward, terminated, _, info = env.step(answer(info["task_id"]))
        assert (reward, terminated, info["reward_valid"]) == (1.0, True, True)
        assert info["image"].startswith("sha256:")
    env.close()


@pytest.mark.parametrize(
    ("env_id", "options", "image"),
    [
        ("execgym/DataAnalysis-v0", {}, "execgym/data:latest"),
        ("execgym/SQL-v0", {"engine": "duckdb"}, "execgym/data:latest"),
        ("execgym/SQL-v0", {}, "execgym/base:latest"),
    ],
)
def test_a_domain_names_the_docker_image_that_has_what_it_needs(env_id, options, image):
    env = gymnasium.make(env_id, disable_env_checker=True, **options).unwrapped
    assert env._spec.template.docker_image == image
    assert env._judge._spec.template.docker_image == image
    env.close()
