"""Frames: what goes in comes out, and any other bytes are refused as such."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from execgym.sandbox import wire

heads = st.dictionaries(
    st.text(max_size=10),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=5,
    ),
    max_size=5,
)
frames = st.builds(
    wire.Frame,
    kind=st.sampled_from(sorted(wire.KINDS)),
    number=st.integers(0, 2**32 - 1),
    head=heads,
    body=st.binary(max_size=200),
)


def decoded(decoder):
    found = []
    while (frame := decoder.next_frame()) is not None:
        found.append(frame)
    return found


@settings(deadline=None)
@given(st.lists(frames, max_size=4), st.integers(1, 40))
def test_frames_come_back_whatever_the_pieces(sent, step):
    data = b"".join(wire.encode(frame) for frame in sent)
    decoder = wire.Decoder()
    received = []
    for start in range(0, len(data), step):
        decoder.feed(data[start : start + step])
        received += decoded(decoder)
    assert received == sent


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.sampled_from([0, 1, 65_535, 65_536, 65_537, 200_000]), min_size=1, max_size=4),
    st.sampled_from([1_000, 65_536, 65_557, 262_144, 1 << 20]),
    st.binary(min_size=1, max_size=8),
)
def test_large_frames_come_back_whatever_the_pieces(sizes, step, pattern):
    sent = [
        wire.Frame(wire.DONE, number, {"a": number}, (pattern * (size + 1))[:size])
        for number, size in enumerate(sizes)
    ]
    data = b"".join(wire.encode(frame) for frame in sent)
    decoder = wire.Decoder()
    received = []
    for start in range(0, len(data), step):
        decoder.feed(data[start : start + step])
        received += decoded(decoder)
    assert received == sent


def test_what_comes_behind_a_large_body_is_looked_at_by_itself():
    seen = []
    decoder = wire.Decoder(lambda kind, number, *_: seen.append((kind, number)))
    large = wire.encode(wire.Frame(wire.DONE, 1, {}, bytes(100_000)))
    decoder.feed(large[:50])
    assert decoder.next_frame() is None
    decoder.feed(large[50:] + wire.encode(wire.Frame(wire.DONE, 2, {}, b"x")) + b"garbage" * 9)
    assert len(decoder.next_frame().body) == 100_000
    assert decoder.next_frame().body == b"x"
    with pytest.raises(wire.FrameError):
        decoder.next_frame()
    assert seen == [(wire.DONE, 1), (wire.DONE, 2)]


@settings(deadline=None)
@given(st.binary(max_size=300))
@example(b"")
@example(wire.HEADER.pack(wire.MAGIC, wire.DONE, 0, 3, 0) + b"{}]")
def test_any_bytes_give_frames_a_wait_or_a_frame_error(data):
    decoder = wire.Decoder()
    decoder.feed(data)
    try:
        for frame in decoded(decoder):
            assert frame.kind in wire.KINDS
    except wire.FrameError:
        pass


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(sorted(wire.KINDS)))
def test_any_head_gives_an_object_or_a_frame_error(head, kind):
    decoder = wire.Decoder()
    decoder.feed(wire.HEADER.pack(wire.MAGIC, kind, 1, len(head), 0) + head)
    try:
        frame = decoder.next_frame()
    except wire.FrameError:
        return
    assert frame is not None
    assert isinstance(frame.head, dict)


@pytest.mark.parametrize(
    "head",
    [
        b"[]",
        b"1",
        b"null",
        b'"x"',
        b"{",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1}x',
        b"\xff\xfe",
        b"{'a':1}",
        b"[" * 100_000,
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' + b"9" * 100_000 + b"}",
        b" ",
    ],
    ids=lambda head: repr(head[:20]),
)
def test_a_head_that_is_no_json_object_is_refused(head):
    decoder = wire.Decoder()
    decoder.feed(wire.HEADER.pack(wire.MAGIC, wire.DONE, 1, len(head), 0) + head)
    with pytest.raises(wire.FrameError):
        decoder.next_frame()


@pytest.mark.parametrize(
    "header",
    [
        (0, wire.DONE, 0, 0, 0),
        (wire.MAGIC + 1, wire.DONE, 0, 0, 0),
        (wire.MAGIC, 0, 0, 0, 0),
        (wire.MAGIC, max(wire.KINDS) + 1, 0, 0, 0),
        (wire.MAGIC, 255, 0, 0, 0),
        (wire.MAGIC, wire.DONE, 0, wire.MAX_HEAD_BYTES + 1, 0),
        (wire.MAGIC, wire.DONE, 0, 0, wire.MAX_BODY_BYTES + 1),
        (wire.MAGIC, wire.DONE, 0, 2**32 - 1, 2**32 - 1),
    ],
)
def test_a_header_is_refused_before_what_it_promises_arrives(header):
    decoder = wire.Decoder()
    decoder.feed(wire.HEADER.pack(*header))
    with pytest.raises(wire.FrameError):
        decoder.next_frame()


def test_a_frame_may_be_refused_by_its_header_alone():
    def admit(kind, number, head_length, body_length):
        raise wire.FrameError("not now")

    decoder = wire.Decoder(admit)
    decoder.feed(wire.HEADER.pack(wire.MAGIC, wire.DONE, 0, 0, 1000))
    with pytest.raises(wire.FrameError, match="not now"):
        decoder.next_frame()


@pytest.mark.parametrize(
    "frame",
    [
        wire.Frame(wire.DONE, 1, {}, bytes(wire.MAX_BODY_BYTES + 1)),
        wire.Frame(wire.DONE, 1, {"a": "x" * wire.MAX_HEAD_BYTES}, b""),
    ],
    ids=["body", "head"],
)
def test_what_is_too_large_is_not_encoded(frame):
    with pytest.raises(wire.FrameError, match="too large"):
        wire.encode(frame)


def test_heads_are_plain_ascii_json():
    data = wire.encode(wire.Frame(wire.DONE, 1, {"é": "\ud800"}, b""))
    assert json.loads(data[wire.HEADER.size :].decode("ascii")) == {"é": "\ud800"}
