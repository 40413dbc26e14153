"""The mutator of Python programs: one thing changed in each, and nothing twice."""

import ast

import pytest

from execgym.judging.mutation import python_mutants


@pytest.mark.parametrize(
    ("source", "mutant"),
    [
        ("a < b", "a <= b"),
        ("a < b", "a >= b"),
        ("a == b", "a != b"),
        ("a + b", "a - b"),
        ("a // b", "a * b"),
        ("a % b", "a // b"),
        ("a and b", "a or b"),
        ("x = True", "x = False"),
        ("x = 7", "x = 6"),
        ("x = 7", "x = 15"),
        ("a.b().c(1)", "a.b()"),
        ("f()\ng()", "g()"),
        ("def f():\n    g()\n    h()", "def f():\n    g()"),
    ],
)
def test_a_mutant_changes_one_thing(source, mutant):
    assert mutant in python_mutants(source)


def test_words_and_methods_are_those_of_the_caller():
    found = python_mutants("x.sum('mean')", words={"mean": ["median"]}, methods={"sum": ["max"]})
    assert found == ["x.max('mean')", "x.sum('median')"]


def test_the_value_of_a_free_keyword_stays():
    assert python_mutants("f(index=True)", free_keywords=("index",)) == []


def test_every_mutant_is_a_program_of_its_own_and_none_is_the_original():
    source = ast.unparse(
        ast.parse(
            "def f(n):\n"
            "    total = 0\n"
            "    while n > 0 and total < 9:\n"
            "        total += n % 10\n"
            "        n //= 10\n"
            "    return total"
        )
    )
    found = python_mutants(source)
    assert len(found) == len(set(found)) > 10
    assert source not in found
    for mutant in found:
        ast.parse(mutant)


def test_what_is_no_program_is_refused():
    with pytest.raises(SyntaxError):
        python_mutants("def")
