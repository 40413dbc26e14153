"""A neighbour that works while another one rages gets the right answers (class 31)."""

import asyncio

import pytest

from execgym.sandbox import Limits, run_sync

RAGES = {
    "burning every core": "import os\nfor _ in range(4): os.fork()\nwhile True: pass",
    "forking": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "flooding its output": "import os\nwhile True: os.write(1, bytes(65536))",
    "filling its memory": "x = []\nwhile True:\n    try: x.append(bytearray(1_000_000))\n"
    "    except MemoryError: x.clear()",
    "filling its disk": "n = 0\nwhile True:\n    try: open(str(n), 'wb').write(bytes(1 << 20))\n"
    "    except OSError: n = 0\n    n += 1",
    "signalling everyone": "import os\nwhile True:\n    for p in (1, 2, 3, -1):\n"
    "        try: os.kill(p, 18)\n        except OSError: pass",
}


@pytest.mark.parametrize("code", RAGES.values(), ids=RAGES.keys())
def test_work_beside_a_rage_is_right_and_within_its_limits(arena, code):
    limits = Limits(cpu_seconds=0.7, wall_seconds=3, memory_bytes=64 << 20)

    async def work(number):
        stdin = str(number).encode()
        result = await arena.neighbour.run_python(
            "import sys\nn = int(sys.stdin.read())\nprint(sum(range(n)) + len(bytes(n)))",
            stdin=stdin,
        )
        assert (result.stdout, result.limit) == (b"%d\n" % (number * (number + 1) // 2), ""), result

    async def both(victim):
        raging = asyncio.create_task(victim.run_python(code, limits=limits))
        for number in range(1000, 1005):
            await work(number)
        return await raging

    with arena.victim(workspace_bytes=8 << 20) as victim:
        assert run_sync(both(victim)).limit in ("cpu", "wall", "memory")
