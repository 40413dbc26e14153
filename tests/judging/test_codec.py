import ast
import datetime
import decimal
import fractions
import math
import struct
import subprocess
import sys
import zoneinfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execgym.judging import CodecLimits, DecodeError, EncodeError, codec, decode, encode

SOURCE = codec.__spec__.loader.get_source(codec.__name__)


def identical(first, second):
    """Whether two values have the same types, bits and order all through."""
    kind = type(first)
    if kind is not type(second):
        return False
    if kind is float:
        return struct.pack(">d", first) == struct.pack(">d", second)
    if kind is complex:
        return identical((first.real, first.imag), (second.real, second.imag))
    if kind in (list, tuple):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(identical(left, right) for left, right in pairs)
    if kind is dict:
        return identical(list(first.items()), list(second.items()))
    if kind in (set, frozenset):
        rest = list(second)
        for element in first:
            match = next((other for other in rest if identical(element, other)), rest)
            if match is rest:
                return False
            rest.remove(match)
        return not rest
    if kind is int:
        return first == second
    if kind is decimal.Decimal:
        return first.as_tuple() == second.as_tuple()
    if kind in (datetime.datetime, datetime.time):
        zones = identical(first.tzinfo, second.tzinfo)
        return zones and first.fold == second.fold and repr(first) == repr(second)
    if kind is range:
        parts = [(value.start, value.stop, value.step) for value in (first, second)]
        return parts[0] == parts[1]
    return first == second and repr(first) == repr(second)


# A loaded machine must not fail a test.
UNTIMED = settings(deadline=None)
characters = st.characters(codec=None, exclude_categories=())
zones = st.one_of(
    st.none(),
    st.builds(
        datetime.timezone,
        st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)),
    ),
    st.builds(
        datetime.timezone,
        st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)),
        st.text(characters),
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu"]).map(zoneinfo.ZoneInfo),
)
hashable_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**300), 2**300),
    st.floats(),
    st.complex_numbers(),
    st.text(characters),
    st.binary(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=zones),
    st.times(timezones=zones),
    st.timedeltas(),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)),
    zones,
)
keys = st.recursive(
    hashable_leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)
    ),
    max_leaves=6,
)
values = st.recursive(
    st.one_of(keys, st.binary().map(bytearray), st.decimals()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.dictionaries(keys, inner, max_size=5),
        st.sets(keys, max_size=5),
    ),
    max_leaves=20,
)


@UNTIMED
@given(values)
def test_a_value_comes_back_with_the_same_types_and_bits(value):
    assert identical(decode(encode(value)), value)


@UNTIMED
@given(values)
def test_a_value_has_one_encoding(value):
    data = encode(value)
    assert encode(decode(data)) == data


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        127,
        128,
        -128,
        -129,
        2**64,
        -(2**64),
        10**5000,
        -(10**5000),
        -0.0,
        math.nan,
        math.inf,
        5e-324,
        struct.unpack(">d", b"\xff\xf8\x00\x00\x00\x00\x00\x07")[0],
        complex(-0.0, math.nan),
        "\ud83d\ude00",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "\x00",
        decimal.Decimal("sNaN123"),
        decimal.Decimal("-NaN"),
        decimal.Decimal("-Infinity"),
        decimal.Decimal("-0E+7"),
        decimal.Decimal("1E+999999999999999999"),
        fractions.Fraction(-1, 3),
        datetime.datetime.max,
        datetime.datetime(2020, 10, 25, 2, 30, fold=1),
        datetime.UTC,
        datetime.timezone(datetime.timedelta(hours=1), "CET"),
        datetime.timedelta.min,
        range(5, -5, -3),
        [[], (), {}, set(), frozenset()],
        {math.nan: 1, (1, "a"): [2], None: {3}},
    ],
    ids=lambda value: ascii(value)[:30] if type(value) is not int else f"{value:#x}"[:20],
)
def test_a_special_value_comes_back(value):
    assert identical(decode(encode(value)), value)


def test_dict_order_is_kept():
    assert list(decode(encode({"b": 1, "a": 2, 3: 3}))) == ["b", "a", 3]


def test_two_nan_keys_stay_two():
    assert len(decode(encode({float("nan"): 1, float("nan"): 2}))) == 2


def test_a_set_has_the_same_bytes_whatever_its_order():
    words = [str(number) for number in range(50)]
    assert encode(set(words)) == encode(set(reversed(words)))


def test_the_source_gives_the_same_bytes_in_an_isolated_interpreter(tmp_path):
    (tmp_path / "execgym_codec.py").write_text(SOURCE)
    value = [1, -(2**70), 1.5, -0.0, "\ud800é", b"x", {1: (2,)}, {"a", "b"}, 1j, range(3)]
    value += [decimal.Decimal("1.50"), fractions.Fraction(1, 3), datetime.date(2020, 1, 2)]
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import execgym_codec as codec;"
        "data = codec.encode(codec.decode(sys.stdin.buffer.read()));"
        "sys.stdout.buffer.write(data)"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", program], input=encode(value), capture_output=True, check=True
    )
    assert run.stdout == encode(value)


def test_the_source_is_python_3_8_and_imports_only_the_standard_library():
    tree = ast.parse(SOURCE, feature_version=(3, 8))
    names = [
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    ]
    assert set(names) <= sys.stdlib_module_names


class Touched(Exception):
    """A method of a value was run."""


def touch(*arguments, **keywords):
    raise Touched


HOSTILE = dict.fromkeys(
    [
        "__eq__",
        "__hash__",
        "__iter__",
        "__len__",
        "__repr__",
        "__str__",
        "__getitem__",
        "keys",
        "__int__",
        "__index__",
        "__float__",
        "__bool__",
        "__reduce_ex__",
        "__getattribute__",
        "items",
        "bit_length",
        "encode",
        "utcoffset",
        "as_tuple",
        "__getattr__",
    ],
    touch,
)


class Meta(type):
    """A metaclass that lies, or raises."""

    __eq__ = touch
    __hash__ = touch
    __getattribute__ = touch
    __repr__ = touch


@pytest.mark.parametrize(
    "base",
    [
        int,
        float,
        complex,
        str,
        bytes,
        bytearray,
        list,
        tuple,
        dict,
        set,
        frozenset,
        object,
        decimal.Decimal,
        fractions.Fraction,
        datetime.date,
        datetime.datetime,
        datetime.timedelta,
    ],
)
def test_a_subclass_is_refused_by_name_and_none_of_its_methods_run(base):
    arguments = {
        datetime.date: (2020, 1, 1),
        datetime.datetime: (2020, 1, 1),
        fractions.Fraction: (1, 2),
    }
    plain = type("Innocent", (base,), {"__class__": property(touch)})
    value = base.__new__(plain, *arguments.get(base, ()))
    for name, method in HOSTILE.items():
        type.__setattr__(plain, name, method)
    for hostile in (value, [value], {"key": value}, (1, [value])):
        with pytest.raises(EncodeError, match="Innocent"):
            encode(hostile)


def test_a_metaclass_is_not_run():
    value = Meta("Innocent", (), {})()
    with pytest.raises(EncodeError, match="Innocent"):
        encode(value)


def test_a_class_named_by_a_str_subclass_runs_nothing_of_it():
    name = type("Name", (str,), {"__format__": touch, "__str__": touch, "__add__": touch})("Evil")
    with pytest.raises(EncodeError, match="Evil"):
        encode(type(name, (), {})())


@pytest.mark.parametrize(
    "value", [np.int64(3), np.float64(1.0), np.array([1]), np.bool_(True)], ids=type
)
def test_a_numpy_value_is_refused_by_name(value):
    with pytest.raises(EncodeError, match=r"numpy\."):
        encode(value)


@pytest.mark.parametrize("value", [len, int, iter([]), (x for x in []), ..., NotImplemented, map])
def test_what_is_no_data_is_refused(value):
    with pytest.raises(EncodeError, match="not plain data"):
        encode(value)


def test_a_time_zone_of_another_class_is_refused():
    zone = type("Zone", (datetime.tzinfo,), {"utcoffset": touch})()
    with pytest.raises(EncodeError, match="Zone"):
        encode(datetime.datetime(2020, 1, 1, tzinfo=zone))


def test_a_fraction_with_forged_parts_is_refused():
    value = fractions.Fraction(1, 2)
    value._numerator = [1]
    with pytest.raises(EncodeError, match="Fraction"):
        encode(value)


@pytest.mark.parametrize("kind", ["list", "dict", "tuple"])
def test_a_cycle_is_refused(kind):
    inner = []
    outer = {"list": [inner], "dict": {1: inner}, "tuple": (inner,)}[kind]
    inner.append(outer)
    with pytest.raises(EncodeError, match="contains itself"):
        encode(outer)


def test_a_value_that_is_shared_is_no_cycle():
    inner = [1]
    assert decode(encode([inner, inner])) == [[1], [1]]


def nest(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_bounded_in_both_directions():
    limits = CodecLimits(depth=5)
    assert decode(encode(nest(5), limits), limits) == nest(5)
    with pytest.raises(EncodeError, match="deeper than 5"):
        encode(nest(6), limits)
    with pytest.raises(DecodeError, match="deeper than 5"):
        decode(encode(nest(6)), limits)


def test_a_very_deep_nest_is_refused_without_recursion():
    with pytest.raises(EncodeError, match="deeper"):
        encode(nest(10**5))
    with pytest.raises(DecodeError, match="deeper"):
        decode(b"\x01" + b"l\x00\x00\x00\x01" * 10**5 + b"N")


def test_a_shared_nest_that_unfolds_without_end_is_bounded():
    value = []
    for _ in range(90):
        value = [value, value]
    with pytest.raises(EncodeError, match="nodes"):
        encode(value, CodecLimits(nodes=1000))


def test_nodes_are_bounded_in_both_directions():
    limits = CodecLimits(nodes=10)
    assert decode(encode([None] * 9, limits), limits) == [None] * 9
    for value in ([None] * 10, {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}, set(range(10))):
        with pytest.raises(EncodeError, match="10 nodes"):
            encode(value, limits)
        with pytest.raises(DecodeError, match="10 nodes"):
            decode(encode(value), limits)


def test_bytes_are_bounded_in_both_directions():
    limits = CodecLimits(size_bytes=100)
    for value in ("a" * 101, b"a" * 101, bytearray(101), "é" * 60, ["a" * 30] * 4):
        with pytest.raises(EncodeError, match="100 bytes"):
            encode(value, limits)
        with pytest.raises(DecodeError, match="100"):
            decode(encode(value), limits)


def test_ints_are_bounded_in_both_directions():
    limits = CodecLimits(int_bits=100)
    for value in (2**100 - 1, -(2**100) + 1):
        assert decode(encode(value, limits), limits) == value
    for value in (2**100, -(2**100), decimal.Decimal("1" * 200)):
        with pytest.raises(EncodeError, match="100 bits"):
            encode(value, limits)
        with pytest.raises(DecodeError, match="100 bits"):
            decode(encode(value), limits)


def test_the_parts_of_a_fraction_are_bounded():
    with pytest.raises(EncodeError, match="Fraction"):
        encode(fractions.Fraction(2**20000, 3))


@pytest.mark.parametrize("field", ["depth", "nodes", "size_bytes", "int_bits"])
@pytest.mark.parametrize("value", [0, -1, 1.0, True, None, 2**40])
def test_a_limit_out_of_range_is_refused_by_name(field, value):
    with pytest.raises(ValueError, match=f"CodecLimits.{field}"):
        CodecLimits(**{field: value})


def decode_or_refuse(data):
    try:
        value = decode(data)
    except DecodeError:
        return
    assert encode(value) == data


tags = b"NTFiIdcsbBltezmrqDyopkuwZ"


@UNTIMED
@given(st.binary())
def test_any_bytes_give_a_value_or_a_decode_error(data):
    decode_or_refuse(data)
    decode_or_refuse(b"\x01" + data)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([bytes((tag,)) for tag in tags]),
            st.integers(0, 4).map(lambda count: count.to_bytes(4, "big")),
            st.sampled_from([b"i\x01\x01", b"k" + bytes(12), b"N", b"s\x00\x00\x00\x00"]),
            st.binary(max_size=12),
        )
    ).map(b"".join)
)
@settings(UNTIMED, max_examples=300)
def test_bytes_made_of_tags_and_counts_give_a_value_or_a_decode_error(data):
    decode_or_refuse(b"\x01" + data)


@given(values, st.data())
@settings(UNTIMED, max_examples=200)
def test_mutated_encodings_give_a_value_or_a_decode_error(value, data):
    encoding = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(encoding) - 1))
        encoding[position] = data.draw(st.integers(0, 255))
    decode_or_refuse(bytes(encoding))


@UNTIMED
@given(values)
def test_a_cut_or_lengthened_encoding_is_refused(value):
    data = encode(value)
    for wrong in (data[:-1], data + b"N", data[: len(data) // 2]):
        with pytest.raises(DecodeError):
            decode(wrong)


def count(tag, number):
    return b"\x01" + tag + number.to_bytes(4, "big")


ONE = b"i\x01\x01"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02N",
        b"\x01?",
        b"\x01i\x00",
        b"\x01i\x02\x00\x01",
        b"\x01i\x02\xff\xff",
        count(b"I", 1) + b"\x01",
        count(b"l", 2**32 - 1),
        count(b"s", 2**32 - 1),
        count(b"s", 1) + b"\xff",
        count(b"s", 2) + b"\xc0\x80",
        count(b"e", 1) + b"l\x00\x00\x00\x00",
        count(b"m", 1) + b"l\x00\x00\x00\x00N",
        count(b"e", 2) + ONE + ONE,
        count(b"e", 2) + b"T" + ONE,
        count(b"m", 2) + b"TN" + ONE + b"N",
        count(b"e", 1) + b"D\x00\x00\x00\x04SNAN",
        count(b"D", 3) + b" 1 ",
        count(b"D", 2) + b"1_",
        count(b"D", 23) + b"1E+99999999999999999999",
        b"\x01r" + ONE + ONE + b"i\x01\x00",
        b"\x01r" + ONE + ONE + b"T",
        b"\x01q" + ONE + b"i\x01\x00",
        b"\x01q" + b"i\x01\x02" + b"i\x01\x02",
        b"\x01q" + ONE + b"i\x01\xff",
        b"\x01y\x00\x00\x01\x01",
        b"\x01p\x18\x00\x00\x00\x00\x00\x00\x00N",
        b"\x01p\x00\x00\x00\x00\x00\x00\x00\x02N",
        b"\x01p\x00\x00\x00\x00\x00\x00\x00\x00" + ONE,
        b"\x01k\x7f\xff\xff\xff" + bytes(8),
        b"\x01k" + b"\xff" * 12,
        b"\x01u" + ONE,
        b"\x01uk\x00\x00\x00\x02" + bytes(8),
        count(b"Z", 11) + b"/etc/passwd",
        count(b"Z", 13) + b"../etc/passwd",
        count(b"Z", 7) + b"America",
        count(b"Z", 8) + b"No/Where",
    ],
    ids=lambda data: ascii(data)[2:32],
)
def test_a_malformed_encoding_is_refused(data):
    with pytest.raises(DecodeError):
        decode(data)


@pytest.mark.parametrize("data", ["N", None, bytearray(b"\x01N"), memoryview(b"\x01N")])
def test_what_is_not_bytes_is_refused(data):
    with pytest.raises(DecodeError, match="bytes"):
        decode(data)


@pytest.mark.parametrize("tag", [b"e", b"z"])
def test_set_elements_out_of_order_are_refused(tag):
    elements = encode({1, 2})[6:]
    assert decode(count(tag, 2) + elements) == {1, 2}
    with pytest.raises(DecodeError, match="order"):
        decode(count(tag, 2) + elements[3:] + elements[:3])


@pytest.mark.parametrize("kind", ["set", "dict"])
def test_keys_made_to_collide_are_refused_in_bounded_time(kind):
    keys = sorted(encode(number * (2**61 - 1))[1:] for number in range(40000))
    data = {
        "set": count(b"e", len(keys)) + b"".join(keys),
        "dict": count(b"m", len(keys)) + b"".join(key + b"N" for key in keys),
    }[kind]
    with pytest.raises(DecodeError, match="collide"):
        decode(data)


def test_many_honest_keys_are_taken():
    value = {number: str(number) for number in range(50000)}
    assert decode(encode(value)) == value
