"""`Unicode`: any text that UTF-8 can carry, in every place where Gymnasium uses a space."""

import copy
import pickle

import gymnasium
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from hypothesis import given
from hypothesis import strategies as st

from execgym.envs.spaces import Unicode, is_encodable


class Echo(gymnasium.Env):
    def __init__(self):
        self.observation_space = Unicode(100)
        self.action_space = Unicode(100)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "", {}

    def step(self, action):
        return f"«{action}»", 1.0, False, False, {}


@given(st.text())
def test_every_text_without_surrogates_is_in_it(text):
    assert text in Unicode(max(1, len(text)))


@pytest.mark.parametrize("value", [None, 1, b"a", ["a"], "\ud800", "a\udfffb", "abcd"])
def test_nothing_else_is_in_it(value):
    assert value not in Unicode(3)


@given(st.text(st.characters(categories=["Cs", "L", "N"])))
def test_is_encodable_says_what_utf8_says(text):
    try:
        text.encode()
        expected = True
    except UnicodeEncodeError:
        expected = False
    assert is_encodable(text) is expected


@given(st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_samples_are_short_members_and_follow_the_seed(max_length, seed):
    one, other = Unicode(max_length, seed=seed), Unicode(max_length, seed=seed)
    for _ in range(5):
        sample = one.sample()
        assert sample in one
        assert len(sample) <= 64
        assert sample == other.sample()


def test_a_mask_is_refused():
    with pytest.raises(gymnasium.error.Error, match="mask"):
        Unicode(3).sample(mask=1)


@pytest.mark.parametrize("length", [0, -1, 1.5, True, "3", None])
def test_a_wrong_length_is_refused(length):
    with pytest.raises(ValueError, match="max_length"):
        Unicode(length)


def test_equality_goes_by_length():
    assert Unicode(3) == Unicode(3, seed=1)
    assert hash(Unicode(3)) == hash(Unicode(3, seed=1))
    assert Unicode(3) != Unicode(4)
    assert Unicode(3) != gymnasium.spaces.Text(3)
    assert repr(Unicode(3)) == "Unicode(3)"


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_clone_draws_the_same_samples(clone):
    space = Unicode(50, seed=3)
    space.sample()
    other = clone(space)
    assert other == space
    assert [other.sample() for _ in range(3)] == [space.sample() for _ in range(3)]


def test_it_is_small_whatever_its_length():
    assert len(pickle.dumps(Unicode(10**9))) < 2000


def test_samples_travel_through_json():
    space = Unicode(50, seed=1)
    samples = [space.sample() for _ in range(3)]
    assert space.from_jsonable(space.to_jsonable(samples)) == samples


def test_a_batch_is_a_tuple_of_texts():
    space = Unicode(20, seed=1)
    batched = batch_space(space, 3)
    assert batched.sample() in batched
    texts = ("a", "", "é")
    assert concatenate(space, texts, create_empty_array(space, n=3)) == texts
    assert tuple(iterate(batched, texts)) == texts


@pytest.mark.parametrize(
    "vectorise",
    [SyncVectorEnv, lambda makers: AsyncVectorEnv(makers, shared_memory=False)],
    ids=["sync", "async"],
)
# Gymnasium forks its workers, and Python 3.12 and later warn about that beside threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_gymnasiums_vector_envs_carry_it(vectorise):
    envs = vectorise([Echo] * 2)
    observations, _ = envs.reset(seed=1)
    assert observations == ("", "")
    observations, *_ = envs.step(("a", "🙂"))
    assert observations == ("«a»", "«🙂»")
    envs.close()
