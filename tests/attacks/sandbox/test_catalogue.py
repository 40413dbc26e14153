"""Every attack of the catalogue on every backend."""

import collections

import pytest
from arena import CLASSES, Attack
from catalogue import (
    abuse,
    forgery,
    introspection,
    memory,
    network,
    output,
    processes,
    storage,
    surface,
    time_and_state,
)

from execgym.sandbox import run_sync

ATTACKS = tuple(
    attack
    for module in (
        processes,
        memory,
        storage,
        output,
        introspection,
        surface,
        network,
        time_and_state,
        forgery,
        abuse,
    )
    for attack in module.ATTACKS
)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_does_what_it_must_and_nobody_else_notices(arena, attack):
    arena.run(attack)


@pytest.mark.parametrize(
    "code",
    [
        "attempt('something', os.getpid)",
        "denied('a call', 'prctl', 39, 0, 0, 0, 0)",
        "denied('a call with an error of its own', 'pidfd_open', -1, 0)",
        "call('no such call')",
        "raise SystemExit(1)",
        "while True: pass",
    ],
)
def test_an_attack_that_is_allowed_something_is_seen(arena, code):
    attack = Attack(number=17, name="control", code=code, limits={"cpu_seconds": 0.3})
    with pytest.raises(AssertionError):
        arena.run(attack)


def test_what_an_attack_does_to_others_is_seen(arena):
    with pytest.raises(AssertionError), arena.watched():
        arena.host.secret.write_text("changed")
    arena.host.secret.write_text("the host's own")
    with pytest.raises(AssertionError), arena.watched():
        run_sync(arena.neighbour.write_file("new", b"x"))
    run_sync(arena.neighbour.run_python("import os\nos.unlink('new')"))
    with arena.watched():
        pass


def test_each_class_is_tried_and_each_attack_has_a_name_of_its_own():
    # Classes 12 and 13 are about what the host does with what a program left: a module of its own.
    counts = collections.Counter(attack.number for attack in ATTACKS)
    assert set(counts) | {12, 13} == set(CLASSES)
    assert len(ATTACKS) >= 150
    assert len({str(attack) for attack in ATTACKS}) == len(ATTACKS)
