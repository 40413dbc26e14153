"""A secret is found in every wrapping that a careless or a clever hand puts it into."""

import base64
import bz2
import dataclasses
import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execgym.envs.leaks import as_bytes, leaked

SECRET = "SELECT title FROM book WHERE price > 12 -- größer\n ORDER BY title"

WRAPPINGS = {
    "as it stands": lambda data: data,
    "other white space": lambda data: data.replace(b" ", b"\n\t"),
    "json": lambda data: json.dumps({"a": data.decode()}).encode(),
    "repr": lambda data: repr(data.decode()).encode(),
    "hexadecimal": lambda data: data.hex().encode(),
    "base64": base64.b64encode,
    "url-safe base64": base64.urlsafe_b64encode,
    "base64 without its end": lambda data: base64.b64encode(data).rstrip(b"="),
    "base64 after a letter": lambda data: b"x" + base64.b64encode(data),
    "base64 of something around it": lambda data: base64.b64encode(b"ab" + data + b"c"),
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "gzip in base64": lambda data: base64.b64encode(gzip.compress(data)),
    "base64 in gzip": lambda data: gzip.compress(base64.b64encode(data)),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_secret_is_found(wrapping):
    wrapped = WRAPPINGS[wrapping](SECRET.encode())
    assert leaked([SECRET, "something else"], b"before " + wrapped + b" after") == [SECRET]


def test_what_is_not_there_is_not_found():
    text = b"SELECT title FROM book WHERE price > 13"
    for wrap in WRAPPINGS.values():
        assert leaked([SECRET], wrap(text)) == []


def test_white_space_is_no_secret():
    assert leaked(["", "  \n"], b"anything at all") == []


@given(st.binary(max_size=400))
def test_no_bytes_break_the_search(data):
    assert leaked(["a secret that is not in there at all"], data) == []


@given(st.binary(max_size=30), st.sampled_from(sorted(WRAPPINGS)))
def test_what_stands_before_hides_nothing(before, wrapping):
    if wrapping.startswith(("base64", "url-safe", "hexadecimal", "gzip in base64")):
        before += b"."
    assert leaked([SECRET], before + WRAPPINGS[wrapping](SECRET.encode())) == [SECRET]


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    inner: object


class Attributes:
    def __init__(self, inner):
        self.inner = inner


class Reduced:
    def __init__(self, inner):
        self._inner = inner

    def __reduce__(self):
        return (Reduced, (0,))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: [text],
        lambda text: {"a": {text: 1}},
        lambda text: ("x", {text}),
        Slots,
        Attributes,
        lambda text: Attributes([Slots(text.encode())]),
    ],
)
def test_texts_are_found_wherever_an_object_keeps_them(wrap):
    assert SECRET.encode() in as_bytes(wrap(SECRET))


def test_what_an_object_does_not_take_along_is_not_found():
    assert SECRET.encode() not in as_bytes(Reduced(SECRET))


def test_a_row_of_numbers_is_found_as_a_whole():
    assert b"[12, 7, 9]" in as_bytes({"a": (12, 7, 9)})


def test_a_circle_ends():
    circle = []
    circle.append(circle)
    assert as_bytes(circle) == b"[]"
