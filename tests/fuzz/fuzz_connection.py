"""An atheris target: bytes become a script of calls and answers for the host's end.

It is no test: run it with a Python that has atheris,

    python tests/fuzz/fuzz_connection.py -max_total_time=180 -max_len=4096
"""

import asyncio
import pathlib
import sys

import atheris

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / ".typing"), str(pathlib.Path(__file__).resolve().parent)]

with atheris.instrument_imports(include=["execgym.sandbox.client", "execgym.sandbox.wire"]):
    from execgym.sandbox import client, wire

from hostile_peer import HEADS, NAMES, READY, Exchange, play  # noqa: E402

KINDS = sorted(wire.KINDS)
LOOP = asyncio.new_event_loop()
assert client.Connection


def piece(source: atheris.FuzzedDataProvider) -> bytes:
    """Return a frame, a frame with a false head or header, or any bytes."""
    shape = source.ConsumeIntInRange(0, 9)
    number = source.ConsumeIntInRange(0, 6)
    kind = KINDS[source.ConsumeIntInRange(0, len(KINDS) - 1)]
    body = source.ConsumeBytes(source.ConsumeIntInRange(0, 200))
    if shape < 6:
        head = HEADS[source.ConsumeIntInRange(0, len(HEADS) - 1)]
        return wire.encode(wire.Frame(kind, number, head, body))
    if shape == 6:
        head_bytes = source.ConsumeBytes(source.ConsumeIntInRange(0, 100))
        lengths = len(head_bytes), len(body)
        return wire.HEADER.pack(wire.MAGIC, kind, number, *lengths) + head_bytes + body
    if shape == 7:
        lengths = source.ConsumeIntInRange(0, 2**32 - 1), source.ConsumeIntInRange(0, 2**32 - 1)
        return wire.HEADER.pack(wire.MAGIC, kind, number, *lengths) + body
    return body


def one_input(data: bytes) -> None:
    """Play one script."""
    source = atheris.FuzzedDataProvider(data)
    greeting = [READY] if source.ConsumeIntInRange(0, 7) else [piece(source)]
    exchanges = []
    while source.remaining_bytes() > 0 and len(exchanges) < 8:
        call = NAMES[source.ConsumeIntInRange(0, len(NAMES) - 1)]
        pieces = []
        for _ in range(source.ConsumeIntInRange(0, 3)):
            whole = piece(source)
            middle = source.ConsumeIntInRange(0, len(whole))
            pieces += [whole[:middle], whole[middle:]]
        exchanges.append(Exchange(call, tuple(pieces)))
    LOOP.run_until_complete(play(greeting, exchanges))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
