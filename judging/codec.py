"""The tagged result codec: plain Python values to bytes and back, with exact types.

Hidden inputs go into a sandbox and answers come out of it through this codec. This one file is
also shipped into sandboxes, so it imports only the standard library and runs on Python 3.8.

What it promises:

* `decode(encode(value))` has the same types and values all through: integers of any size, every
  float bit, lone surrogates, the order of a dict, `-0.0`, signalling NaNs of `Decimal`.
* Exact types only. `encode` looks at `type(value)` and refuses subclasses, so no method of the
  value (`__eq__`, `__hash__`, `__iter__`, `__class__`, a metaclass) runs while it is encoded.
* `decode` is total: any bytes give a value or a `DecodeError`, in bounded time and memory. It
  accepts one encoding per value, so `encode(decode(data)) == data`. Elements of sets are ordered
  by their bytes for that reason.
* Shared references become copies, cycles are refused.

What it cannot promise: that bytes from a sandbox are the truth. Code in the sandbox can patch this
module there and send any value it likes. A decoded value is a claim made of plain data.

The format is one version byte and then one value. A value is a one-byte tag and its payload;
lengths and counts are unsigned 32-bit big-endian, containers are a count and their items:

    N T F         None, True, False        l t         list, tuple
    i I           int, two's complement    e z         set, frozenset (ordered by bytes)
    d c           float, complex           m           dict: key, value, key, value, ...
    s             str, UTF-8 (surrogates   r q         range (3 ints), Fraction (2 ints)
                  pass)                    D           Decimal, as upper-case text
    b B           bytes, bytearray         y o p       date, datetime, time
    k             timedelta                u w Z       timezone, named timezone, ZoneInfo
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import re
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

try:
    from zoneinfo import ZoneInfo
except ImportError:  # Python 3.8 has none.
    ZoneInfo = None  # type: ignore[assignment, misc]

_VERSION = b"\x01"
_U32 = struct.Struct(">I")
_FLOAT = struct.Struct(">d")
_COMPLEX = struct.Struct(">dd")
_DATE = struct.Struct(">HBB")
_DATETIME = struct.Struct(">HBBBBBIB")
_TIME = struct.Struct(">BBBIB")
_TIMEDELTA = struct.Struct(">iii")
_ZONE_KEY = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,3}\Z")

# A Fraction is put into lowest terms by a quadratic gcd, so its parts are bounded much lower than
# an int: 4,096 digits a part cost under a millisecond.
_FRACTION_BITS = 2**14

# Hashes of numbers and of tuples of numbers are no secret, so hostile keys can be made to collide,
# also in ways that equal hashes do not show. Inserting 100,000 honest keys takes about 0.02 s of
# CPU, so this bound is met only by keys made for it.
_HASHING_CPU_SECONDS = 1.0
_HASHING_CHUNK = 64


class CodecError(ValueError):
    """A value or its encoding was refused."""


class EncodeError(CodecError):
    """The value is not plain data, or exceeds a limit."""


class DecodeError(CodecError):
    """The bytes are not the encoding of a value, or exceed a limit."""


@dataclass(frozen=True)
class CodecLimits:
    """Bounds on one encoded value, in both directions.

    Attributes:
        depth: Containers within containers. At most 400, so that a comparator may recurse.
        nodes: Values in total, containers and dict keys included.
        size_bytes: Bytes of the encoding.
        int_bits: Bits of one integer, and about as many of the digits of one Decimal.
    """

    depth: int = 100
    nodes: int = 2**18
    size_bytes: int = 8 * 2**20
    int_bits: int = 2**20

    def __post_init__(self) -> None:
        for name, highest in (
            ("depth", 400),
            ("nodes", 2**31),
            ("size_bytes", 2**31),
            ("int_bits", 2**31),
        ):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= highest:
                raise ValueError(
                    f"CodecLimits.{name} must be an int from 1 to {highest}, not {value!r}"
                )


DEFAULT_LIMITS = CodecLimits()


def encode(value: Any, limits: CodecLimits = DEFAULT_LIMITS) -> bytes:
    """Encode plain data.

    Raises:
        EncodeError: A value in it has a type that is not carried (subclasses included), it
            contains itself, or it exceeds a limit. The message names the type or the limit.
    """
    return _Encoder(limits).run(value)


def decode(data: bytes, limits: CodecLimits = DEFAULT_LIMITS) -> Any:
    """Decode one value from hostile bytes.

    Raises:
        DecodeError: The bytes are not what `encode` makes, or exceed a limit.
    """
    if type(data) is not bytes:
        raise DecodeError(f"an encoding is of type bytes, not {_type_name(type(data))}")
    return _Decoder(data, limits).run()


def _type_name(kind: type) -> str:
    # A metaclass may override `__name__`, and the name may be an instance of a str subclass. These
    # slots run none of their code and give an exact str.
    name = str.__getitem__(type.__dict__["__name__"].__get__(kind), slice(0, 100))
    module = type.__dict__["__module__"].__get__(kind)
    if type(module) is str and module not in ("builtins", "__main__"):
        name = module[:100] + "." + name
    return ascii(name)[1:-1]


class _EncoderFrame:
    """A container whose items are being written."""

    __slots__ = ("chunks", "identity", "items", "outer")

    def __init__(self, items: Iterator[Any], identity: int, outer: bytearray | None) -> None:
        self.items = items
        self.identity = identity
        # Items of a set are collected one by one, to be put in order at its end.
        self.outer = outer
        self.chunks: list[bytes] = []


class _Encoder:
    def __init__(self, limits: CodecLimits) -> None:
        self._limits = limits
        self._nodes = 0
        self._size = 0
        self._out = bytearray()
        self._frames: list[_EncoderFrame] = []
        self._open: set[int] = set()

    def run(self, value: Any) -> bytes:
        self._write(_VERSION)
        self._encode(value)
        while self._frames:
            frame = self._frames[-1]
            if frame.outer is not None and self._out:
                frame.chunks.append(bytes(self._out))
                self._out.clear()
            try:
                item = next(frame.items)
            except StopIteration:
                self._close(frame)
            else:
                self._encode(item)
        return bytes(self._out)

    def _encode(self, value: Any) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise EncodeError(f"the value has more than {self._limits.nodes} nodes")
        kind = type(value)
        # By identity: looking a class up as a key would run its metaclass' `__hash__`.
        method = _ENCODERS.get(id(kind))
        if method is None:
            raise EncodeError(
                f"a value of type {_type_name(kind)} is not plain data; only exact built-in"
                " types are carried, no subclasses: " + _CARRIED
            )
        method(self, value)

    def _write(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._limits.size_bytes:
            raise EncodeError(f"the encoding exceeds {self._limits.size_bytes} bytes")
        self._out += data

    def _write_sized(self, tag: bytes, data: bytes) -> None:
        self._write(tag + _U32.pack(len(data)))
        self._write(data)

    def _open_frame(self, items: Any, identity: int, in_order: bool) -> None:
        if identity in self._open:
            raise EncodeError("the value contains itself")
        if len(self._frames) >= self._limits.depth:
            raise EncodeError(f"the value is nested deeper than {self._limits.depth}")
        self._open.add(identity)
        self._frames.append(_EncoderFrame(iter(items), identity, None if in_order else self._out))
        if not in_order:
            self._out = bytearray()

    def _close(self, frame: _EncoderFrame) -> None:
        self._frames.pop()
        self._open.discard(frame.identity)
        if frame.outer is not None:
            self._out = frame.outer
            self._out += b"".join(sorted(frame.chunks))

    def _items(self, tag: bytes, container: Any, in_order: bool) -> None:
        if len(container) > self._limits.nodes:
            raise EncodeError(f"the value has more than {self._limits.nodes} nodes")
        # A copy, so that another thread cannot change it between its count and its items.
        items = tuple(container)
        self._write(tag + _U32.pack(len(items)))
        self._open_frame(items, id(container), in_order)

    def _parts(self, head: bytes, value: Any, parts: tuple[Any, ...]) -> None:
        self._write(head)
        self._open_frame(parts, id(value), True)

    def _none(self, value: None) -> None:
        self._write(b"N")

    def _bool(self, value: bool) -> None:
        self._write(b"T" if value else b"F")

    def _int(self, value: int) -> None:
        bits = value.bit_length()
        if bits > self._limits.int_bits:
            raise EncodeError(f"an int of {bits} bits exceeds {self._limits.int_bits} bits")
        # For a negative power of two this may be a byte more than needed; `_Decoder._int` agrees.
        data = value.to_bytes(bits // 8 + 1, "big", signed=True)
        if len(data) < 256:
            self._write(b"i" + bytes((len(data),)) + data)
        else:
            self._write_sized(b"I", data)

    def _float(self, value: float) -> None:
        self._write(b"d" + _FLOAT.pack(value))

    def _complex(self, value: complex) -> None:
        self._write(b"c" + _COMPLEX.pack(value.real, value.imag))

    def _str(self, value: str) -> None:
        # UTF-8 has at least a byte for each character.
        self._fits(len(value))
        self._write_sized(b"s", value.encode("utf-8", "surrogatepass"))

    def _bytes(self, value: bytes) -> None:
        self._fits(len(value))
        self._write_sized(b"b", value)

    def _bytearray(self, value: bytearray) -> None:
        self._fits(len(value))
        self._write_sized(b"B", bytes(value))

    def _fits(self, size: int) -> None:
        if size > self._limits.size_bytes:
            raise EncodeError(f"the encoding exceeds {self._limits.size_bytes} bytes")

    def _list(self, value: list[Any]) -> None:
        self._items(b"l", value, True)

    def _tuple(self, value: tuple[Any, ...]) -> None:
        self._items(b"t", value, True)

    def _set(self, value: set[Any]) -> None:
        self._items(b"e", value, False)

    def _frozenset(self, value: frozenset[Any]) -> None:
        self._items(b"z", value, False)

    def _dict(self, value: dict[Any, Any]) -> None:
        if 2 * len(value) > self._limits.nodes:
            raise EncodeError(f"the value has more than {self._limits.nodes} nodes")
        pairs = tuple(value.items())
        self._write(b"m" + _U32.pack(len(pairs)))
        self._open_frame((part for pair in pairs for part in pair), id(value), True)

    def _range(self, value: range) -> None:
        self._parts(b"r", value, (value.start, value.stop, value.step))

    def _fraction(self, value: fractions.Fraction) -> None:
        parts = (value.numerator, value.denominator)
        for part in parts:
            if type(part) is not int:
                raise EncodeError("a Fraction has a part that is not an int")
            if part.bit_length() > _FRACTION_BITS:
                raise EncodeError(f"a part of a Fraction exceeds {_FRACTION_BITS} bits")
        self._parts(b"q", value, parts)

    def _decimal(self, value: decimal.Decimal) -> None:
        # The context decides between "e" and "E", and the text of a NaN has lower-case letters.
        text = str(value).upper()
        if len(text) > self._limits.int_bits // 3 + 64:
            raise EncodeError(f"a Decimal exceeds {self._limits.int_bits} bits")
        self._write_sized(b"D", text.encode("ascii"))

    def _date(self, value: datetime.date) -> None:
        self._write(b"y" + _DATE.pack(value.year, value.month, value.day))

    def _datetime(self, value: datetime.datetime) -> None:
        head = _DATETIME.pack(
            value.year,
            value.month,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
            value.fold,
        )
        self._parts(b"o" + head, value, (self._zone(value.tzinfo),))

    def _time(self, value: datetime.time) -> None:
        head = _TIME.pack(value.hour, value.minute, value.second, value.microsecond, value.fold)
        self._parts(b"p" + head, value, (self._zone(value.tzinfo),))

    def _zone(self, zone: Any) -> Any:
        if zone is not None and type(zone) is not datetime.timezone and type(zone) is not ZoneInfo:
            raise EncodeError(
                f"a time zone of type {_type_name(type(zone))} is not carried; use"
                " datetime.timezone or zoneinfo.ZoneInfo"
            )
        return zone

    def _timedelta(self, value: datetime.timedelta) -> None:
        self._write(b"k" + _TIMEDELTA.pack(value.days, value.seconds, value.microseconds))

    def _timezone(self, value: datetime.timezone) -> None:
        offset = value.utcoffset(None)
        name = value.tzname(None)
        if type(name) is str and name == datetime.timezone(offset).tzname(None):
            self._parts(b"u", value, (offset,))
        else:
            self._parts(b"w", value, (offset, name))

    def _zone_info(self, value: Any) -> None:
        if type(value.key) is not str or not _ZONE_KEY.match(value.key):
            raise EncodeError("a ZoneInfo is carried by its key, and this one has none")
        self._write_sized(b"Z", value.key.encode("ascii"))


_ENCODED_TYPES: list[tuple[type, Callable[[_Encoder, Any], None]]] = [
    (type(None), _Encoder._none),
    (bool, _Encoder._bool),
    (int, _Encoder._int),
    (float, _Encoder._float),
    (complex, _Encoder._complex),
    (str, _Encoder._str),
    (bytes, _Encoder._bytes),
    (bytearray, _Encoder._bytearray),
    (list, _Encoder._list),
    (tuple, _Encoder._tuple),
    (set, _Encoder._set),
    (frozenset, _Encoder._frozenset),
    (dict, _Encoder._dict),
    (range, _Encoder._range),
    (decimal.Decimal, _Encoder._decimal),
    (fractions.Fraction, _Encoder._fraction),
    (datetime.date, _Encoder._date),
    (datetime.datetime, _Encoder._datetime),
    (datetime.time, _Encoder._time),
    (datetime.timedelta, _Encoder._timedelta),
    (datetime.timezone, _Encoder._timezone),
]
if ZoneInfo is not None:
    _ENCODED_TYPES.append((ZoneInfo, _Encoder._zone_info))
_ENCODERS = {id(kind): method for kind, method in _ENCODED_TYPES}
_CARRIED = ", ".join(kind.__name__ for kind, _ in _ENCODED_TYPES)


class _DecoderFrame:
    """A container whose items are being read."""

    __slots__ = ("build", "item_start", "items", "last_item", "left")

    def __init__(
        self, build: Callable[[list[Any]], Any], left: int, item_start: int | None
    ) -> None:
        self.build = build
        self.left = left
        self.items: list[Any] = []
        # Where the current item starts, for a set, whose items must come in order.
        self.item_start = item_start
        self.last_item = b""


class _Decoder:
    def __init__(self, data: bytes, limits: CodecLimits) -> None:
        self._data = data
        self._limits = limits
        self._offset = 0
        self._nodes = 0
        self._depth = 0
        self._hashing_seconds_left = _HASHING_CPU_SECONDS

    def run(self) -> Any:
        if len(self._data) > self._limits.size_bytes:
            raise DecodeError(
                f"{len(self._data)} bytes exceed the limit of {self._limits.size_bytes}"
            )
        if self._take(1) != _VERSION:
            raise DecodeError("the encoding has another version")
        frames: list[_DecoderFrame] = []
        while True:
            value = self._read()
            if type(value) is _DecoderFrame:
                if len(frames) >= self._limits.depth:
                    raise DecodeError(f"the value is nested deeper than {self._limits.depth}")
                frames.append(value)
                if value.left:
                    continue
                value = self._build(frames.pop())
            while frames:
                frame = frames[-1]
                frame.items.append(value)
                frame.left -= 1
                if frame.item_start is not None:
                    self._check_order(frame)
                if frame.left:
                    break
                value = self._build(frames.pop())
            else:
                break
        if self._offset != len(self._data):
            raise DecodeError(f"{len(self._data) - self._offset} bytes follow the value")
        return value

    def _check_order(self, frame: _DecoderFrame) -> None:
        item = self._data[frame.item_start : self._offset]
        if item <= frame.last_item:
            raise DecodeError("the elements of a set are not in order, or repeat")
        frame.last_item = item
        frame.item_start = self._offset

    def _build(self, frame: _DecoderFrame) -> Any:
        try:
            return frame.build(frame.items)
        except DecodeError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            raise DecodeError(f"the parts of a value do not fit together: {error}") from None

    def _read(self) -> Any:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise DecodeError(f"the value has more than {self._limits.nodes} nodes")
        tag = self._take(1)
        method = _DECODERS.get(tag)
        if method is None:
            raise DecodeError(f"unknown tag {tag!r} at byte {self._offset - 1}")
        return method(self)

    def _take(self, size: int) -> bytes:
        end = self._offset + size
        if end > len(self._data):
            raise DecodeError(f"the encoding ends within a value, at byte {len(self._data)}")
        taken = self._data[self._offset : end]
        self._offset = end
        return taken

    def _take_sized(self) -> bytes:
        (size,) = _U32.unpack(self._take(4))
        return self._take(size)

    def _count(self, values_each: int) -> int:
        (count,) = _U32.unpack(self._take(4))
        values = int(count) * values_each
        # Every value takes a byte at least.
        if values > len(self._data) - self._offset:
            raise DecodeError(f"the encoding ends within a value, at byte {len(self._data)}")
        if values > self._limits.nodes - self._nodes:
            raise DecodeError(f"the value has more than {self._limits.nodes} nodes")
        return values

    def _none(self) -> None:
        return None

    def _true(self) -> bool:
        return True

    def _false(self) -> bool:
        return False

    def _short_int(self) -> int:
        return self._int(self._take(self._take(1)[0]))

    def _long_int(self) -> int:
        data = self._take_sized()
        if len(data) < 256:
            raise DecodeError("an int is not in its shortest form")
        return self._int(data)

    def _int(self, data: bytes) -> int:
        if len(data) > self._limits.int_bits // 8 + 1:
            raise DecodeError(f"an int exceeds {self._limits.int_bits} bits")
        value = int.from_bytes(data, "big", signed=True)
        bits = value.bit_length()
        if bits > self._limits.int_bits:
            raise DecodeError(f"an int exceeds {self._limits.int_bits} bits")
        if len(data) != bits // 8 + 1:
            raise DecodeError("an int is not in its shortest form")
        return value

    def _float(self) -> float:
        (value,) = _FLOAT.unpack(self._take(8))
        return float(value)

    def _complex(self) -> complex:
        real, imaginary = _COMPLEX.unpack(self._take(16))
        return complex(real, imaginary)

    def _str(self) -> str:
        try:
            return self._take_sized().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise DecodeError("a str is not valid UTF-8") from None

    def _bytes(self) -> bytes:
        return self._take_sized()

    def _bytearray(self) -> bytearray:
        return bytearray(self._take_sized())

    def _list(self) -> _DecoderFrame:
        return _DecoderFrame(_same_list, self._count(1), None)

    def _tuple(self) -> _DecoderFrame:
        return _DecoderFrame(tuple, self._count(1), None)

    def _set(self) -> _DecoderFrame:
        count = self._count(1)
        return _DecoderFrame(self._build_set, count, self._offset)

    def _frozenset(self) -> _DecoderFrame:
        count = self._count(1)
        return _DecoderFrame(lambda items: frozenset(self._build_set(items)), count, self._offset)

    def _dict(self) -> _DecoderFrame:
        return _DecoderFrame(self._build_dict, self._count(2), None)

    def _build_set(self, items: list[Any]) -> set[Any]:
        built: set[Any] = set()
        self._insert(len(items), lambda start, end: built.update(items[start:end]))
        if len(built) != len(items):
            raise DecodeError("two elements of a set are equal")
        return built

    def _build_dict(self, items: list[Any]) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        keys = items[0::2]
        values = items[1::2]
        self._insert(
            len(keys),
            lambda start, end: built.update(zip(keys[start:end], values[start:end])),  # noqa: B905
        )
        if len(built) != len(keys):
            raise DecodeError("two keys of a dict are equal")
        return built

    def _insert(self, count: int, insert: Callable[[int, int], None]) -> None:
        if count <= _HASHING_CHUNK:
            insert(0, count)
            return
        started = time.thread_time()
        for start in range(0, count, _HASHING_CHUNK):
            insert(start, start + _HASHING_CHUNK)
            if time.thread_time() - started > self._hashing_seconds_left:
                raise DecodeError("the hashes of too many keys collide")
        self._hashing_seconds_left -= time.thread_time() - started

    def _range(self) -> _DecoderFrame:
        return _DecoderFrame(_build_range, 3, None)

    def _fraction(self) -> _DecoderFrame:
        return _DecoderFrame(_build_fraction, 2, None)

    def _decimal(self) -> decimal.Decimal:
        data = self._take_sized()
        if len(data) > self._limits.int_bits // 3 + 64:
            raise DecodeError(f"a Decimal exceeds {self._limits.int_bits} bits")
        try:
            text = data.decode("ascii")
            value = decimal.Decimal(text)
        except (ValueError, ArithmeticError):
            raise DecodeError("a Decimal is malformed") from None
        if str(value).upper() != text:
            raise DecodeError("a Decimal is not in its usual form")
        return value

    def _date(self) -> datetime.date:
        fields = _DATE.unpack(self._take(_DATE.size))
        try:
            return datetime.date(*fields)
        except ValueError as error:
            raise DecodeError(f"a date is malformed: {error}") from None

    def _datetime(self) -> _DecoderFrame:
        *fields, fold = _DATETIME.unpack(self._take(_DATETIME.size))

        def build(items: list[Any]) -> datetime.datetime:
            return datetime.datetime(*fields).replace(tzinfo=_decoded_zone(items[0]), fold=fold)

        return _DecoderFrame(build, 1, None)

    def _time(self) -> _DecoderFrame:
        *fields, fold = _TIME.unpack(self._take(_TIME.size))

        def build(items: list[Any]) -> datetime.time:
            return datetime.time(*fields).replace(tzinfo=_decoded_zone(items[0]), fold=fold)

        return _DecoderFrame(build, 1, None)

    def _timedelta(self) -> datetime.timedelta:
        days, seconds, microseconds = _TIMEDELTA.unpack(self._take(_TIMEDELTA.size))
        if not (0 <= seconds < 86400 and 0 <= microseconds < 1000000):
            raise DecodeError("a timedelta is not in its usual form")
        try:
            return datetime.timedelta(days, seconds, microseconds)
        except OverflowError as error:
            raise DecodeError(f"a timedelta is malformed: {error}") from None

    def _timezone(self) -> _DecoderFrame:
        return _DecoderFrame(_build_timezone, 1, None)

    def _named_timezone(self) -> _DecoderFrame:
        return _DecoderFrame(_build_timezone, 2, None)

    def _zone_info(self) -> Any:
        key = self._take_sized().decode("ascii", "replace")
        if ZoneInfo is None or not _ZONE_KEY.match(key):
            raise DecodeError("a ZoneInfo is not known here")
        try:
            return ZoneInfo(key)
        except (LookupError, ValueError, OSError, ImportError):
            raise DecodeError("a ZoneInfo is not known here") from None


def _same_list(items: list[Any]) -> list[Any]:
    return items


def _all_int(items: list[Any]) -> bool:
    return all(type(item) is int for item in items)


def _build_range(items: list[Any]) -> range:
    if not _all_int(items):
        raise DecodeError("a range has a part that is not an int")
    return range(*items)


def _build_fraction(items: list[Any]) -> fractions.Fraction:
    if not _all_int(items) or any(part.bit_length() > _FRACTION_BITS for part in items):
        raise DecodeError(f"a part of a Fraction is no int of at most {_FRACTION_BITS} bits")
    value = fractions.Fraction(items[0], items[1])
    if [value.numerator, value.denominator] != items:
        raise DecodeError("a Fraction is not in lowest terms")
    return value


def _decoded_zone(zone: Any) -> Any:
    if zone is not None and type(zone) is not datetime.timezone and type(zone) is not ZoneInfo:
        raise DecodeError("a time zone is of another type")
    return zone


def _build_timezone(items: list[Any]) -> datetime.timezone:
    if type(items[0]) is not datetime.timedelta or type(items[-1]) not in (datetime.timedelta, str):
        raise DecodeError("a time zone has parts of another type")
    value = datetime.timezone(*items)
    if len(items) == 2 and items[1] == datetime.timezone(items[0]).tzname(None):
        raise DecodeError("a time zone is not in its shortest form")
    return value


_DECODERS: dict[bytes, Callable[[_Decoder], Any]] = {
    b"N": _Decoder._none,
    b"T": _Decoder._true,
    b"F": _Decoder._false,
    b"i": _Decoder._short_int,
    b"I": _Decoder._long_int,
    b"d": _Decoder._float,
    b"c": _Decoder._complex,
    b"s": _Decoder._str,
    b"b": _Decoder._bytes,
    b"B": _Decoder._bytearray,
    b"l": _Decoder._list,
    b"t": _Decoder._tuple,
    b"e": _Decoder._set,
    b"z": _Decoder._frozenset,
    b"m": _Decoder._dict,
    b"r": _Decoder._range,
    b"q": _Decoder._fraction,
    b"D": _Decoder._decimal,
    b"y": _Decoder._date,
    b"o": _Decoder._datetime,
    b"p": _Decoder._time,
    b"k": _Decoder._timedelta,
    b"u": _Decoder._timezone,
    b"w": _Decoder._named_timezone,
    b"Z": _Decoder._zone_info,
}
