"""Every attack of the catalogue on every backend."""

import collections

import pytest
from arena import CLASSES
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


def test_each_class_is_tried_and_each_attack_has_a_name_of_its_own():
    # Classes 12 and 13 are about what the host does with what a program left: a module of its own.
    counts = collections.Counter(attack.number for attack in ATTACKS)
    assert set(counts) | {12, 13} == set(CLASSES)
    assert len(ATTACKS) >= 150
    assert len({str(attack) for attack in ATTACKS}) == len(ATTACKS)
