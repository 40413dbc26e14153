"""Episodes on an image that the caller names: its digest is told, and the judge uses it, too."""

import copy

import gymnasium
import pytest

import execgym  # noqa: F401
from execgym.cli.sources import reference_answer
from execgym.envs import InvalidOptionError
from execgym.envs.coding.env import CodingEnv
from execgym.sandbox.images import unpack_image


@pytest.fixture(scope="module")
def unpacked(base_image, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images") / "base"
    return str(folder), unpack_image("base", folder).digest


@pytest.mark.parametrize("env_id", ["execgym/SQL-v0", "execgym/Coding-v0"])
def test_an_episode_on_an_unpacked_image_is_judged_there(unpacked, env_id):
    folder, digest = unpacked
    env = gymnasium.make(env_id, backend="namespace", image=folder, disable_env_checker=True)
    answer = reference_answer(env_id)
    for seed in (1, 2):
        _, info = env.reset(seed=seed)
        _, reward, _, _, info = env.step(answer(info["task_id"]))
        assert (reward, info["image"]) == (1.0, digest)
    assert copy.deepcopy(env.unwrapped)._arguments()["image"] == folder
    env.close()


def test_one_image_is_told_by_one_digest_on_every_backend(unpacked, backend):
    folder, digest = unpacked
    image = folder if backend == "namespace" else "execgym/base:latest"
    env = CodingEnv(backend=backend, image=image)
    env.reset(seed=1)
    info = env.step('{"name": "run_python", "arguments": {"code": "print(1)"}}')[4]
    assert (info["stdout"], info["image"]) == ("1\n", digest)
    env.close()


@pytest.mark.parametrize(
    ("backend_name", "image", "says"),
    [
        ("auto", "/somewhere", "say which by backend="),
        ("auto", "execgym/base", "say which by backend="),
        ("namespace", "execgym/base", "execgym images unpack"),
        ("docker", "/somewhere", "takes an image's name"),
        ("docker-per-episode", "/somewhere", "takes an image's name"),
        ("namespace", "", "image must be"),
        ("namespace", None, "image must be"),
    ],
)
def test_an_image_that_cannot_be_meant_is_refused(backend_name, image, says):
    with pytest.raises(InvalidOptionError, match=says):
        CodingEnv(backend=backend_name, image=image)
