"""The host's end of the protocol against whatever a peer may send, in every state."""

import asyncio

import pytest
from hostile_peer import EMPTY_SNAPSHOT, HEADS, NAMES, READY, RESULT, STATS, Exchange, play
from hypothesis import example, given, settings
from hypothesis import strategies as st

from execgym.sandbox import wire

ANSWERS = {
    "run": (wire.RESULT, RESULT, b"outerr"),
    "command": (wire.RESULT, RESULT, b"ok"),
    "start": (wire.STARTED, {}, b""),
    "write": (wire.DONE, {}, b""),
    "read": (wire.DONE, {}, b"text"),
    "list": (wire.DONE, {}, b"a\0b/c"),
    "freeze": (wire.DONE, {}, b""),
    "stats": (wire.DONE, STATS, b""),
    "snapshot": (wire.DONE, {}, EMPTY_SNAPSHOT),
    "restore": (wire.DONE, {}, b""),
    "send": (wire.FROM_PROGRAM, {}, b"message"),
    "receive": (wire.FROM_PROGRAM, {}, b"message"),
    "wait": (wire.RESULT, RESULT, b"ok"),
    "kill": (wire.RESULT, RESULT, b"ok"),
}


def encoded(kind, number, head, body):
    return wire.encode(wire.Frame(kind, number, head, body))


any_frame = st.builds(
    encoded,
    st.sampled_from(sorted(wire.KINDS)),
    st.integers(0, 6) | st.integers(0, 2**32 - 1),
    st.sampled_from(HEADS) | st.dictionaries(st.text(max_size=5), st.none() | st.integers()),
    st.binary(max_size=300),
)
any_header = st.builds(
    wire.HEADER.pack,
    st.just(wire.MAGIC) | st.integers(0, 2**32 - 1),
    st.integers(0, 255),
    st.integers(0, 6),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
)


@st.composite
def scripts(draw):
    """Calls, each with the right answer or another, whole or changed, in pieces."""
    exchanges = []
    requests = 0
    program = 0
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6)):
        kind, head, body = ANSWERS[name]
        if name in ("send", "receive", "wait", "kill"):
            number = program
        else:
            requests += 1
            number = requests
        program = requests if name == "start" else program
        right = encoded(kind, number, head, body)
        data = draw(
            st.just(right)
            | st.just(right)
            | st.lists(any_frame, max_size=3).map(lambda more, right=right: right + b"".join(more))
            | st.lists(any_frame, max_size=3).map(b"".join)
            | any_header
            | st.binary(max_size=100)
        )
        for position in draw(st.lists(st.integers(0, max(0, len(data) - 1)), max_size=2)):
            if draw(st.booleans()) and data:
                changed = bytes([draw(st.integers(0, 255))])
                data = data[:position] + changed + data[position + 1 :]
        exchanges.append(Exchange(name, tuple(cut(data, draw(st.integers(1, 64))))))
    return exchanges


def cut(data, step):
    return [data[start : start + step] for start in range(0, len(data), step)][:40]


@settings(deadline=None, max_examples=300)
@given(scripts())
def test_any_answers_give_results_or_typed_errors(exchanges):
    asyncio.run(play([READY], exchanges))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.binary(max_size=60) | any_frame | any_header, max_size=5))
@example([])
@example([READY[:5], READY[5:]])
@example([READY + READY])
def test_any_greeting_is_a_sandbox_or_a_typed_error(greeting):
    asyncio.run(play(greeting, [Exchange("stats", ())]))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("send", "kill")])
def test_the_right_answers_are_results(name):
    number = 1 if name in ("receive", "wait") else 2
    first = Exchange("start", (encoded(wire.STARTED, 1, {}, b""),))
    if name in ("run", "command", "start", "restore"):
        first = Exchange("freeze", (encoded(wire.DONE, 1, {}, b""),))
    kind, head, body = ANSWERS[name]
    last = Exchange(name, tuple(cut(encoded(kind, number, head, body), 7)))
    assert asyncio.run(play([READY], [first, last])) == ["ok", "ok"]


def test_a_flood_before_an_answer_is_not_held():
    message = encoded(wire.FROM_PROGRAM, 1, {}, bytes(1000))
    flood = Exchange("stats", tuple([message * 50] * 800))
    start = Exchange("start", (encoded(wire.STARTED, 1, {}, b""),))
    assert asyncio.run(play([READY], [start, flood])) == ["ok", "ProtocolViolationError"]
