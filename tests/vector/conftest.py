"""Small envs that need no sandbox: a text env and a numeric one, async and not."""

import asyncio
import threading
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from execgym.envs.spaces import Unicode


class PlainTextEnv(gymnasium.Env):
    """Episodes of a seeded length. Actions steer it: "fail" raises."""

    metadata: ClassVar = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, render_mode=None):
        self.observation_space = Unicode(1000)
        self.action_space = Unicode(1000)
        self.render_mode = render_mode
        self.colour = "red"
        self.closings = 0
        self.length = self.turn = 0

    def begin(self, options):
        if (options or {}).get("fail"):
            raise RuntimeError("cannot begin")
        self.length = int(self.np_random.integers(1, 5))
        self.turn = 0
        return f"episode of {self.length} {options or ''}", {"task_id": f"t{self.length}"}

    def advance(self, action):
        if action == "fail":
            raise RuntimeError("the env broke")
        self.turn += 1
        over = self.turn >= self.length
        info = {
            "turn": self.turn,
            "stdout": f"{self.turn}",
            "usage": {"seconds": 0.5 * self.turn},
            "reward_valid": True,
        }
        if over:
            info["verdict"] = {"status": "pass", "score": 1.0, "checks": [{"name": "rows"}]}
        reward = float(self.np_random.random())
        return (
            f"{action} {self.turn} {reward}",
            reward,
            over and self.length % 2 == 0,
            (over and self.length % 2 == 1),
            info,
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.begin(options)

    def step(self, action):
        return self.advance(action)

    def render(self):
        return f"turn {self.turn}"

    def close(self):
        self.closings += 1


class AsyncTextEnv(PlainTextEnv):
    """The same with async methods. "wait" waits until `gate` is set."""

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.gate = threading.Event()
        self.cancelled = False

    async def areset(self, *, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        return self.begin(options)

    async def astep(self, action):
        try:
            while action == "wait" and not self.gate.is_set():
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self.advance(action)

    async def aclose(self):
        self.closings += 1


class BoxEnv(gymnasium.Env):
    """A numeric env, for the paths that concatenate arrays."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Dict(
            {"x": gymnasium.spaces.Box(-1, 1, (2,)), "n": gymnasium.spaces.Discrete(5)}
        )
        self.action_space = gymnasium.spaces.Discrete(3)

    def _observe(self):
        return {
            "x": self.np_random.uniform(-1, 1, 2).astype(np.float32),
            "n": np.int64(self.np_random.integers(5)),
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action):
        over = bool(self.np_random.random() < 0.3)
        return self._observe(), float(action), over, False, {"action": int(action)}


@pytest.fixture(scope="session")
def every_kind():
    return {"plain": PlainTextEnv, "async": AsyncTextEnv, "box": BoxEnv}
