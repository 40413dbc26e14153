"""Whether something that must stay hidden can be read out of what an agent gets.

A text counts as readable as it stands, with other white space, with the escapes of JSON or of
Python's `repr`, in hexadecimal, in base64, or in a gzip, zlib or bzip2 stream, and in these one
within the other.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import dataclasses
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping

_DEPTH = 3
_LARGEST_VIEW = 32 * 1024 * 1024
_MOST_STREAMS = 200
_MOST_OBJECTS = 200_000
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_HEXADECIMAL = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")
_STREAM = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|BZh[1-9]")


def leaked(secrets: Iterable[str], data: bytes) -> list[str]:
    """Return the secrets that can be read out of some bytes.

    Args:
        secrets: Texts. Those of white space alone are in everything and count as nothing.
        data: What an agent gets.
    """
    views = [_plain(view) for view in _views(data, _DEPTH)]
    return [
        secret
        for secret in secrets
        if secret.strip() and any(form in view for form in _forms(secret) for view in views)
    ]


def as_bytes(value: object) -> bytes:
    """Return all texts and bytes that are reachable from an object, one after the other.

    Keys, items, attributes and what an object is made from again (`__reduce_ex__`) are followed.
    """
    parts: list[bytes] = []
    seen: set[int] = set()
    waiting = [value]
    kept = []
    while waiting and len(seen) < _MOST_OBJECTS:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        # A temporary object must not give its address to another one.
        kept.append(one)
        match one:
            case str():
                parts.append(one.encode("utf-8", "surrogatepass"))
            case bytes() | bytearray():
                parts.append(bytes(one))
            case None | bool() | int() | float() | complex() | type():
                parts.append(repr(one).encode())
            case Mapping():
                waiting += [*one.keys(), *one.values()]
            case list() | tuple() | set() | frozenset():
                # As a whole too: numbers in a row may be a secret that none of them is.
                parts.append(_shallow(one))
                waiting += list(one)
            case _ if dataclasses.is_dataclass(one):
                waiting += [getattr(one, field.name) for field in dataclasses.fields(one)]
            case _:
                waiting += _made_from(one)
    return b"\n".join(parts)


def _shallow(items: Iterable[object]) -> bytes:
    plain = [one for one in items if isinstance(one, str | bytes | int | float | None)]
    return repr(plain).encode("utf-8", "surrogatepass")


def _made_from(value: object) -> list[object]:
    try:
        made = value.__reduce_ex__(4)
    except Exception:
        # What cannot be taken apart cannot travel.
        return []
    return [made] if isinstance(made, str) else [part for part in made if not callable(part)]


def _forms(secret: str) -> set[bytes]:
    texts = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    texts.add(json.dumps(secret, ensure_ascii=False)[1:-1])
    return {_plain(text.encode("utf-8", "surrogatepass")) for text in texts}


def _plain(data: bytes) -> bytes:
    return b" ".join(data.split())


def _views(data: bytes, depth: int) -> Iterator[bytes]:
    yield data
    if depth == 0:
        return
    for inner in _decoded(data):
        yield from _views(inner, depth - 1)


def _decoded(data: bytes) -> Iterator[bytes]:
    for number, match in enumerate(_STREAM.finditer(data)):
        if number == _MOST_STREAMS:
            break
        yield from _decompressed(data[match.start() :])
    for match in _HEXADECIMAL.finditer(data):
        yield binascii.unhexlify(match[0])
    for match in _BASE64.finditer(data):
        run = match[0].replace(b"-", b"+").replace(b"_", b"/")
        # What stands before it may look like a part of it.
        for start in range(4):
            part = run[start : start + (len(run) - start) // 4 * 4]
            rest = run[start + len(part) :]
            if len(rest) > 1:
                part += rest + b"=" * (4 - len(rest))
            yield base64.b64decode(part)


def _decompressed(data: bytes) -> Iterator[bytes]:
    try:
        if data.startswith(b"BZ"):
            found = bz2.BZ2Decompressor().decompress(data, _LARGEST_VIEW)
        else:
            # 32 more than the window: gzip's header or zlib's.
            found = zlib.decompressobj(32 + zlib.MAX_WBITS).decompress(data, _LARGEST_VIEW)
    except (zlib.error, OSError, ValueError):
        return
    yield found
