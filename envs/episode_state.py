"""Where an episode stands, as data."""

from __future__ import annotations

import dataclasses

from execgym.envs.errors import InvalidStateError
from execgym.envs.task import Task


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeState:
    """Where an episode stands: `ExecEnv.snapshot` makes one, `ExecEnv.restore` goes on from it.

    It holds what the model has been shown, what it has said and what it has made, and nothing of
    the judge's. It may be kept, pickled and sent to another process.

    Attributes:
        domain: The env's domain, such as `"coding"`.
        tasks: Name of the task source.
        task_id: The task.
        turn: Steps made so far.
        seconds: Time that commands have run so far.
        cpu_seconds: Their CPU time.
        peak_memory_bytes: The largest of their peaks.
        transcript: Who said what so far: `"task"`, `"action"` or `"observation"`, and the text.
        workspace: What is in `/workspace`, as `Sandbox.snapshot` gives it, or None where no tool
            has needed a sandbox or none of them can change it.
    """

    domain: str
    tasks: str
    task_id: str
    turn: int
    seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    transcript: tuple[tuple[str, str], ...]
    workspace: bytes | None

    @property
    def observation(self) -> str:
        """What the model was shown last."""
        return self.transcript[-1][1]

    def check_form(self) -> None:
        """Check that the state is of the types that it says, wherever it has been.

        Raises:
            InvalidStateError: It is not.
        """
        texts = (self.domain, self.tasks, self.task_id)
        numbers = (self.seconds, self.cpu_seconds)
        said = self.transcript
        sound = (
            all(type(text) is str for text in texts)
            and type(self.turn) is int
            and all(type(number) in (int, float) and number >= 0 for number in numbers)
            and type(self.peak_memory_bytes) is int
            and type(said) is tuple
            and all(
                type(entry) is tuple
                and len(entry) == 2
                and all(type(part) is str for part in entry)
                for entry in said
            )
            and (self.workspace is None or type(self.workspace) is bytes)
        )
        if not sound:
            raise InvalidStateError("the state has a field of another type than it should have")

    def check(self, task: Task) -> None:
        """Check that the task is still the one that the episode was about.

        Raises:
            InvalidStateError: It is another.
        """
        shown = self.transcript[0][1] if self.transcript else ""
        if not shown.startswith(task.prompt):
            raise InvalidStateError(
                f"the state's task {self.task_id!r} asks for something else here: it was made with "
                "another version of the tasks, or other arguments to make"
            )
