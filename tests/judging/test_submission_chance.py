"""What a submission will meet cannot be foreseen, and is the same again."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from execgym.judging.submission_chance import submission_chance

artifacts = st.dictionaries(st.text(max_size=5), st.binary(max_size=20), max_size=3)


def numbers(task_id, submitted):
    return [submission_chance(task_id, submitted).random() for _ in range(2)]


@given(st.text(max_size=8), artifacts)
def test_equal_submissions_have_equal_chance_in_whatever_order_their_files_are(task_id, submitted):
    reversed_files = dict(reversed(list(submitted.items())))
    assert numbers(task_id, submitted) == numbers(task_id, reversed_files)


@given(st.text(max_size=8), artifacts, st.text(max_size=8), artifacts)
def test_any_difference_makes_another_chance(task_id, submitted, other_id, other):
    same = (task_id, submitted) == (other_id, other)
    assert (numbers(task_id, submitted) == numbers(other_id, other)) == same


def test_it_is_the_same_in_another_process():
    code = (
        "from execgym.judging.submission_chance import submission_chance\n"
        "print(submission_chance('task', {'a': b'1', 'b': b'2'}).random())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == submission_chance("task", {"b": b"2", "a": b"1"}).random()
