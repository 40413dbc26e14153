"""Plays the references of some tasks in a process of its own: `python -m execgym.cli.condition`.

`execgym validate` starts it under other hash seeds, time zones and locales. It reads one JSON
object from standard input (`env_id`, `options`, `task_ids`) and writes one to standard output: what
was seen, as a fingerprint by task.
"""

from __future__ import annotations

import json
import sys

import gymnasium

from execgym.cli.sources import reference_answer
from execgym.envs.core import ExecEnv
from execgym.envs.validation import play_references
from execgym.sandbox import run_sync


def main() -> None:
    """Read the work, play the references, write the fingerprints."""
    work = json.load(sys.stdin)

    def make() -> ExecEnv:
        env = gymnasium.make(work["env_id"], **work["options"]).unwrapped
        assert isinstance(env, ExecEnv)  # noqa: S101
        return env

    played = play_references(make, reference_answer(work["env_id"]), work["task_ids"])
    json.dump(run_sync(played), sys.stdout)


if __name__ == "__main__":
    main()
