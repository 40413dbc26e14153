"""The one env that all domains share."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from execgym.envs.episode_state import EpisodeState
from execgym.envs.errors import InvalidOptionError, InvalidStateError, not_one_of
from execgym.envs.spaces import Unicode, is_encodable
from execgym.envs.task import Judge, Task, TaskSource
from execgym.envs.tools import Tool, ToolCall, ToolCallError, parse_action, tools_of
from execgym.judging.grading import grade_with_retry
from execgym.judging.verdict import Status, Verdict
from execgym.sandbox import (
    CommandResult,
    Limits,
    Sandbox,
    SandboxError,
    SandboxFileError,
    SandboxSpec,
    SandboxUnavailableError,
    SnapshotError,
    Template,
    TemplateError,
    check_snapshot,
    image_fingerprint,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.spec import BACKENDS, RUNTIMES

MAX_ACTION_LENGTH = 100_000
MAX_OBSERVATION_LENGTH = 200_000

HOPELESS = (SandboxUnavailableError, TemplateError)
"""Failures that say that this machine or configuration can run no sandbox of this kind at all.
They are raised: to end episode after episode without a verdict instead would hide the cause."""

_RESET_OPTIONS = ("task_id", "split", "level")

StepResult = tuple[str, float, bool, bool, dict[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answers.

    Attributes:
        observation: The text that the model sees next.
        command: How the command that the tool ran ended, if it ran one.
        artifacts: The files that the candidate hands in, by relative path. Giving them ends the
            episode: they, and nothing else, go to the judge.
    """

    observation: str
    command: CommandResult | None = None
    artifacts: Mapping[str, bytes] | None = None


class ExecEnv(gymnasium.Env[str, str], abc.ABC):
    """An episode of professional work: a prompt, tool calls in a sandbox, a judged submission.

    An action is the model's message, read as a tool call by `execgym.envs.tools.parse_action`. A
    message that cannot be read costs a step and is answered by an observation that says why.

    `areset`, `astep` and `aclose` are the core; the sync methods run them on the process's shared
    event loop, so they work inside notebooks. The async methods may be awaited on any one loop.
    The sandbox is opened by the first tool that needs it and closed at the episode's end, so an
    env that has run nothing costs no process.

    A domain supplies a task source, tools (`execgym.envs.tools.tool`), a template and a judge.

    Args:
        tasks: Name of the task source: `"generated"`, or a public set that `execgym data` has
            brought to this machine.
        split: `"train"` or `"test"`, or None for the first that the source has, which is
            `"train"` where it has one.
        level: Difficulty, or None for all of them evenly.
        max_turns: Steps after which an episode is truncated and judged as it stands.
        backend: Sandbox backend, `"auto"` or the name of one.
        runtime: What a Docker backend runs containers with, or `""` for the daemon's default.
        image: What sandboxes are made from, the judge's included: `"host"` for the backend's own
            default, the host's Python or the domain's image in Docker; in `"namespace"` the
            absolute path of a folder that `execgym images unpack` has made; in the Docker
            backends the name of an image.
        limits: Overrides of the task's `Limits`, by field name.
        episode_seconds: Time that an episode's commands may run in total before it is truncated.
        instructions: Whether the first observation ends with how to answer and which tools there
            are. Switch it off where the caller's prompt or chat template says so itself.
        usage: Whether `info["usage"]` holds measured times and memory. They differ between equal
            episodes, so they are off by default.
        render_mode: `"ansi"` for the transcript, or None.

    Raises:
        InvalidOptionError: An argument is not allowed.
        TaskSetUnavailableError: `tasks` is a public set that is not on this machine.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]
    domain: ClassVar[str]
    default_tool: ClassVar[str]
    template: ClassVar[Template] = Template()
    tools_are_read_only: ClassVar[bool] = False
    """Whether every tool leaves the sandbox as it was, so that a call may be retried in a new one
    when the sandbox fails."""

    def __init__(
        self,
        *,
        tasks: str = "generated",
        split: str | None = None,
        level: int | None = None,
        max_turns: int = 8,
        backend: str = "auto",
        runtime: str = "",
        image: str = "host",
        limits: Mapping[str, float] | None = None,
        episode_seconds: float = 600.0,
        instructions: bool = True,
        usage: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if isinstance(max_turns, bool) or not isinstance(max_turns, int) or max_turns < 1:
            raise InvalidOptionError(f"max_turns must be at least 1, not {max_turns!r}")
        if (
            isinstance(episode_seconds, bool)
            or not isinstance(episode_seconds, int | float)
            or not episode_seconds > 0
        ):
            raise InvalidOptionError(f"episode_seconds must be positive, not {episode_seconds!r}")
        for name, value in (("instructions", instructions), ("usage", usage)):
            if not isinstance(value, bool):
                raise InvalidOptionError(f"{name} must be True or False, not {value!r}")
        if backend not in BACKENDS:
            raise not_one_of("backend", backend, BACKENDS)
        if runtime not in RUNTIMES:
            raise not_one_of("runtime", runtime, RUNTIMES)
        if runtime and not backend.startswith("docker"):
            raise InvalidOptionError(
                f"runtime {runtime!r} is Docker's: it needs backend='docker' or "
                f"'docker-per-episode', not {backend!r}"
            )
        _check_image(image, backend)
        if limits is not None and not isinstance(limits, Mapping):
            raise InvalidOptionError(
                f"limits must be a mapping such as {{'cpu_seconds': 5.0}}, not {limits!r}"
            )
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise not_one_of("render_mode", render_mode, self.metadata["render_modes"])
        self._tasks = tasks
        self.task_source = self._load_source(tasks)
        self._split = self._checked_split(self.task_source.splits[0] if split is None else split)
        self._level = self._checked_level(level, self._split)
        self._max_turns = max_turns
        self._limits = dict(limits or {})
        self._spec = SandboxSpec(
            template=dataclasses.replace(self._template_of(backend), image=image),
            limits=self._limits_of(Limits()),
            backend=backend,
            runtime=runtime,
        )
        self._episode_seconds = float(episode_seconds)
        self._instructions = instructions
        self._usage = usage
        self.render_mode = render_mode
        self.tools: Mapping[str, Tool] = tools_of(type(self))
        self.observation_space = Unicode(MAX_OBSERVATION_LENGTH)
        self.action_space = Unicode(MAX_ACTION_LENGTH)
        self._judge = self._make_judge(backend, runtime, image)
        self._task: Task | None = None
        self._sandbox: Sandbox | None = None
        self._image = ""
        self._turn = 0
        self._over = True
        self._seconds = 0.0
        self._cpu_seconds = 0.0
        self._peak_memory_bytes = 0
        self._transcript: list[tuple[str, str]] = []
        self._restored: bytes | None = None

    # ---- what a domain supplies ---------------------------------------------------------------

    @abc.abstractmethod
    def _load_source(self, tasks: str) -> TaskSource:
        """Return the task source of a name, or raise `InvalidOptionError`."""

    @abc.abstractmethod
    def _make_judge(self, backend: str, runtime: str, image: str) -> Judge:
        """Return the judge of this env's task source; its sandboxes are made in the same way."""

    def _template_of(self, backend: str) -> Template:
        """Return the template of the episode's sandboxes in a backend."""
        return self.template

    async def _standing_artifacts(self) -> Mapping[str, bytes] | None:
        """Return what is there to be judged when an episode ends without a submission."""
        return None

    def _shaping(self, artifacts: Mapping[str, bytes], verdict: Verdict) -> float:
        """Return a reward for the way there, in [0, 1], for a verdict that is not a PASS."""
        return 0.0

    # ---- for tools ----------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """The task of the current episode.

        Raises:
            ResetNeeded: There has been no reset.
        """
        if self._task is None:
            raise ResetNeeded("call reset before anything else")
        return self._task

    @property
    def turn(self) -> int:
        """Steps made in the current episode."""
        return self._turn

    async def _workspace(self) -> Sandbox:
        """Return the episode's sandbox, opened and laid out at the first call."""
        if self._sandbox is None:
            spec = dataclasses.replace(self._spec, limits=self._limits_of(self.task.limits))
            sandbox = await open_sandbox(spec)
            try:
                if self._restored is not None:
                    await sandbox.restore(self._restored)
                else:
                    for path, data in self.task.files.items():
                        await sandbox.write_file(path, data)
            except SnapshotError as error:
                await sandbox.close()
                raise InvalidStateError(
                    f"the state's files do not fit into a sandbox ({error}): give limits more than "
                    f"workspace_bytes={spec.limits.workspace_bytes} and "
                    f"workspace_inodes={spec.limits.workspace_inodes}"
                ) from error
            except SandboxFileError as error:
                await sandbox.close()
                raise InvalidOptionError(
                    f"the files of task {self.task.id!r} do not fit into its sandbox ({error}): "
                    f"give limits more than workspace_bytes={spec.limits.workspace_bytes} and "
                    f"workspace_inodes={spec.limits.workspace_inodes}"
                ) from error
            except BaseException:
                await sandbox.close()
                raise
            self._sandbox = sandbox
            self._image = sandbox.fingerprint
        return self._sandbox

    async def _used_workspace(self) -> Sandbox | None:
        """Return the episode's sandbox, or None where nothing has run in one."""
        if self._sandbox is None and self._restored is None:
            return None
        return await self._workspace()

    # ---- the async core -----------------------------------------------------------------------

    async def areset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a new episode; see `gymnasium.Env.reset`.

        Args:
            seed: Restarts the env's generator. Equal seeds give equal tasks and observations.
            options: `task_id` for a certain task, or `split` and `level` for this episode only.

        Raises:
            InvalidOptionError: An option is unknown or has a value that is not allowed.
            UnknownTaskError: No task has the given id.
        """
        options = {} if options is None else options
        self.check_options(options)
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        task = self._pick(options)
        await self._close_sandbox()
        self._task = task
        self._image = ""
        self._turn = 0
        self._over = False
        self._seconds = 0.0
        self._cpu_seconds = 0.0
        self._peak_memory_bytes = 0
        self._restored = None
        observation = task.prompt
        if self._instructions:
            observation = f"{observation}\n\n{self.instructions}"
        self._transcript = [("task", observation)]
        return observation, self._info()

    async def astep(self, action: str) -> StepResult:
        """Run one message of the model; see `gymnasium.Env.step`.

        Raises:
            TypeError: The action is no string.
            ResetNeeded: There is no episode, or it is over.
            SandboxUnavailableError: No sandbox can run on this machine. The episode is over.
            TemplateError: The env's template cannot be built. The episode is over.
        """
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, not {type(action).__name__}")
        if self._task is None or self._over:
            raise ResetNeeded("the episode is over; call reset before the next step")
        self._turn += 1
        self._transcript.append(("action", action))
        try:
            return await self._take(action)
        except BaseException:
            # A cancelled call leaves a sandbox in an unknown state: the episode cannot go on.
            self._over = True
            await self._close_sandbox()
            raise

    async def asnapshot(self) -> EpisodeState:
        """Return where the episode stands, to go on from there as often as one likes.

        The episode goes on, too. Files are part of the state; what programs have in memory is
        not, such as the variables of a session.

        Raises:
            ResetNeeded: There is no episode, or it is over.
            SnapshotError: `/workspace` holds more than a snapshot may.
            SandboxError: The sandbox failed; the episode will end without a verdict.
        """
        if self._task is None or self._over:
            raise ResetNeeded("the episode is over: take the state of one that goes on")
        workspace = self._restored
        if self._sandbox is not None and not self.tools_are_read_only:
            workspace = await self._sandbox.snapshot()
        return EpisodeState(
            domain=self.domain,
            tasks=self._tasks,
            task_id=self._task.id,
            turn=self._turn,
            seconds=self._seconds,
            cpu_seconds=self._cpu_seconds,
            peak_memory_bytes=self._peak_memory_bytes,
            transcript=tuple(self._transcript),
            workspace=workspace,
        )

    async def arestore(self, state: EpisodeState) -> tuple[str, dict[str, Any]]:
        """Go on from where an episode stood, in place of the one under way.

        Its sandbox is opened by the first tool that needs it. Wrappers know nothing of this: one
        that counts steps goes on counting.

        Args:
            state: What `asnapshot` of this env returned, or of another of equal arguments.

        Returns:
            The observation that the model saw last, and its info.

        Raises:
            InvalidStateError: The state is of another env, or has no steps or time left here. The
                episode under way goes on.
            UnknownTaskError: This env has no such task.
        """
        task = self._task_of(state)
        await self._close_sandbox()
        self._task = task
        self._image = ""
        self._turn = state.turn
        self._over = False
        self._seconds = state.seconds
        self._cpu_seconds = state.cpu_seconds
        self._peak_memory_bytes = state.peak_memory_bytes
        self._restored = state.workspace
        self._transcript = list(state.transcript)
        return state.observation, self._info()

    async def aclose(self) -> None:
        """Close the sandbox. Closing twice is fine."""
        self._over = True
        await self._close_sandbox()

    # ---- the sync face ------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a new episode; see `areset`."""
        super().reset(seed=seed)
        return run_sync(self.areset(seed=seed, options=options))

    def step(self, action: str) -> StepResult:
        """Run one message of the model; see `astep`."""
        return run_sync(self.astep(action))

    def snapshot(self) -> EpisodeState:
        """Return where the episode stands; see `asnapshot`."""
        return run_sync(self.asnapshot())

    def restore(self, state: EpisodeState) -> tuple[str, dict[str, Any]]:
        """Go on from where an episode stood; see `arestore`."""
        return run_sync(self.arestore(state))

    def close(self) -> None:
        """Close the sandbox. Closing twice is fine."""
        if self._sandbox is not None:
            run_sync(self.aclose())
        self._over = True

    def render(self) -> str | None:
        """Return the transcript so far in mode `"ansi"`, else None."""
        if self.render_mode != "ansi":
            return None
        return "\n".join(f"[{who}]\n{_printable(text)}\n" for who, text in self._transcript)

    @property
    def instructions(self) -> str:
        """How to answer, and the tools, in words for a model that has no tool template."""
        lines = [
            "Answer with one tool call a message: a JSON object with the keys name and arguments.",
            "Tools:",
        ]
        for tool in self.tools.values():
            arguments = ", ".join(
                f"{name}: {schema['type']}"
                for name, schema in tool.parameters["properties"].items()
            )
            lines.append(f"- {tool.name}({arguments}): {tool.description}")
        first = next(iter(self.tools[self.default_tool].parameters["properties"]))
        lines.append(
            f"A message that is no tool call is taken as {self.default_tool} with its last fenced "
            f"block, or else the whole message, as {first}."
        )
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[type[Self], dict[str, Any]]]:
        # An env is its arguments: neither a live sandbox nor anything of a judge may travel.
        return _rebuild, (type(self), self._arguments())

    def _arguments(self) -> dict[str, Any]:
        return {
            "tasks": self._tasks,
            "split": self._split,
            "level": self._level,
            "max_turns": self._max_turns,
            "backend": self._spec.backend,
            "runtime": self._spec.runtime,
            "image": self._spec.template.image,
            "limits": dict(self._limits),
            "episode_seconds": self._episode_seconds,
            "instructions": self._instructions,
            "usage": self._usage,
            "render_mode": self.render_mode,
        }

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Check the options of `reset` as far as that needs no task to be made.

        Raises:
            InvalidOptionError: An option is unknown or has a value that is not allowed.
        """
        if not isinstance(options, Mapping):
            raise InvalidOptionError(f"reset's options must be a mapping, not {options!r}")
        for name in options:
            if name not in _RESET_OPTIONS:
                raise not_one_of("reset option", name, _RESET_OPTIONS)
        if "task_id" in options:
            if len(options) > 1:
                raise InvalidOptionError("task_id names one task: give no split or level with it")
            if not isinstance(options["task_id"], str):
                raise InvalidOptionError(f"task_id must be a str, not {options['task_id']!r}")
        else:
            split = self._checked_split(options.get("split", self._split))
            self._checked_level(options.get("level", self._level), split)

    # ---- inside -------------------------------------------------------------------------------

    async def _take(self, action: str) -> StepResult:
        try:
            call = self._read(action)
        except ToolCallError as error:
            return await self._go_on(f"This message could not be used: {error}.", tool="")
        try:
            result = await self._call(call)
        except SandboxError as error:
            return await self._end_without_verdict(call.name, error)
        if result.command is not None:
            self._seconds += result.command.wall_seconds
            self._cpu_seconds += result.command.cpu_seconds
            self._peak_memory_bytes = max(self._peak_memory_bytes, result.command.peak_memory_bytes)
        if result.artifacts is not None:
            return await self._judged(
                result.observation, result.artifacts, tool=call.name, command=result.command
            )
        return await self._go_on(result.observation, tool=call.name, command=result.command)

    def _limits_of(self, base: Limits) -> Limits:
        names = [field.name for field in dataclasses.fields(Limits)]
        for name in self._limits:
            if name not in names:
                raise not_one_of("limit", name, names)
        try:
            return dataclasses.replace(base, **self._limits)  # type: ignore[arg-type]
        except ValueError as error:
            raise InvalidOptionError(str(error)) from None

    def _checked_split(self, split: object) -> str:
        if not isinstance(split, str) or split not in self.task_source.splits:
            raise not_one_of("split", split, self.task_source.splits)
        return split

    def _checked_level(self, level: object, split: str) -> int | None:
        if level is None:
            return None
        levels = self.task_source.levels(split)
        if (
            isinstance(level, bool)
            or not isinstance(level, int | np.integer)
            or level not in levels
        ):
            raise not_one_of("level", level, levels)
        return int(level)

    def _pick(self, options: Mapping[str, Any]) -> Task:
        """Return the task that options ask for which have been checked."""
        if "task_id" in options:
            return self.task_source.task(options["task_id"])
        split = self._checked_split(options.get("split", self._split))
        level = self._checked_level(options.get("level", self._level), split)
        return self.task_source.task(self.task_source.sample(self.np_random, split, level))

    def _task_of(self, state: EpisodeState) -> Task:
        """Return the task of a state that can go on in this env."""
        if not isinstance(state, EpisodeState):
            raise InvalidStateError(f"a state is what snapshot returns, not {state!r:.80}")
        state.check_form()
        if (state.domain, state.tasks) != (self.domain, self._tasks):
            raise InvalidStateError(
                f"the state is of {state.domain} with tasks={state.tasks!r}, and this env of "
                f"{self.domain} with tasks={self._tasks!r}: restore it in an env of the same kind"
            )
        if not 0 <= state.turn < self._max_turns:
            raise InvalidStateError(
                f"the state has made {state.turn} steps and this env's max_turns is "
                f"{self._max_turns}: give make more"
            )
        if not 0 <= state.seconds < self._episode_seconds:
            raise InvalidStateError(
                f"the state's commands have run {state.seconds:.1f} s and this env's "
                f"episode_seconds is {self._episode_seconds:g}: give make more"
            )
        if state.workspace is not None:
            try:
                check_snapshot(state.workspace)
            except SnapshotError as error:
                raise InvalidStateError(f"the state's workspace is none: {error}") from None
        task = self.task_source.task(state.task_id)
        state.check(task)
        return task

    def _read(self, action: str) -> ToolCall:
        if len(action) > MAX_ACTION_LENGTH:
            raise ToolCallError(
                f"it has {len(action)} characters and the limit is {MAX_ACTION_LENGTH}; "
                "send a shorter one"
            )
        if not is_encodable(action):
            raise ToolCallError(
                "it has a lone surrogate, which no text file can hold; leave it out"
            )
        return parse_action(action, self.tools, self.default_tool)

    async def _call(self, call: ToolCall) -> ToolResult:
        method: Callable[..., Awaitable[ToolResult]] = getattr(self, call.name)
        try:
            return await method(**call.arguments)
        except SandboxError:
            await self._close_sandbox()
            if not self.tools_are_read_only:
                raise
            return await method(**call.arguments)

    async def _go_on(
        self, observation: str, *, tool: str, command: CommandResult | None = None
    ) -> StepResult:
        if self._turn < self._max_turns and self._seconds < self._episode_seconds:
            observation = self._observe(observation)
            return observation, 0.0, False, False, self._info(tool=tool, command=command)
        try:
            artifacts = await self._standing_artifacts()
        except SandboxError as error:
            return await self._end_without_verdict(tool, error)
        return await self._judged(
            observation, artifacts, tool=tool, command=command, submitted=False
        )

    async def _judged(
        self,
        observation: str,
        artifacts: Mapping[str, bytes] | None,
        *,
        tool: str,
        command: CommandResult | None,
        submitted: bool = True,
    ) -> StepResult:
        # The candidate's processes are gone before anything is graded.
        await self._close_sandbox()
        if not self._image:
            # Only the judge's sandboxes have run, or none: they are made from the same image.
            with contextlib.suppress(SandboxError):
                self._image = await image_fingerprint(self._spec)
        task = self.task
        if artifacts is None:
            verdict = Verdict(
                status=Status.FAIL,
                score=0.0,
                reason="Nothing was submitted.",
                judge_version=f"{self.domain}-env",
            )
            artifacts = {}
        else:
            verdict = await self._grade(task, artifacts)
        self._over = True
        reward = 0.0
        if verdict.valid:
            reward = verdict.score
            if verdict.status is Status.FAIL:
                reward = max(reward, self._shaping(artifacts, verdict))
        observation = self._observe(f"{observation}\n{_announce(verdict)}".lstrip("\n"))
        info = self._info(tool=tool, command=command, verdict=verdict)
        ended = submitted and verdict.valid
        return observation, float(reward), ended, not ended, info

    async def _grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        hopeless: list[SandboxError] = []

        async def grade() -> Verdict:
            try:
                return await self._judge.grade(task, artifacts)
            except HOPELESS as error:
                hopeless.append(error)
                raise

        verdict = await grade_with_retry(grade, judge_version=self.domain)
        if not verdict.valid and hopeless:
            raise hopeless[-1]
        return verdict

    async def _end_without_verdict(self, tool: str, error: SandboxError) -> StepResult:
        if isinstance(error, HOPELESS):
            raise error
        await self._close_sandbox()
        self._over = True
        verdict = Verdict(
            status=Status.JUDGE_ERROR,
            score=0.0,
            reason=f"The sandbox failed ({type(error).__name__}).",
            judge_version=f"{self.domain}-env",
        )
        observation = self._observe(_announce(verdict))
        return observation, 0.0, False, True, self._info(tool=tool, verdict=verdict)

    async def _close_sandbox(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()

    def _observe(self, text: str) -> str:
        if len(text) > MAX_OBSERVATION_LENGTH:
            text = text[: MAX_OBSERVATION_LENGTH - 100] + "\n[the rest has been cut]"
        self._transcript.append(("observation", text))
        return text

    def _info(
        self,
        *,
        tool: str = "",
        command: CommandResult | None = None,
        verdict: Verdict | None = None,
    ) -> dict[str, Any]:
        task = self.task
        info: dict[str, Any] = {
            "task_id": task.id,
            "level": task.level,
            "split": task.split,
            "turn": self._turn,
            "tool": tool,
            "exit_code": command.exit_code if command is not None else 0,
            "stdout": decode(command.stdout) if command is not None else "",
            "stderr": decode(command.stderr) if command is not None else "",
            "reward_valid": verdict.valid if verdict is not None else True,
            "image": self._image,
        }
        if verdict is not None:
            info["verdict"] = verdict.as_info()
        if self._usage:
            info["usage"] = {
                "cpu_seconds": self._cpu_seconds,
                "wall_seconds": self._seconds,
                "peak_memory_bytes": self._peak_memory_bytes,
            }
        return info


def _check_image(image: object, backend: str) -> None:
    if not isinstance(image, str) or not image:
        raise InvalidOptionError(f"image must be a str such as 'host', not {image!r}")
    if image == "host":
        return
    if backend == "auto":
        raise InvalidOptionError(
            f"image {image!r} is a folder or a name in Docker: say which by backend='namespace' or "
            "backend='docker'"
        )
    folder = os.path.isabs(image)
    if backend == "namespace" and not folder:
        raise InvalidOptionError(
            f"image {image!r} is no absolute path: 'namespace' takes a folder, which `execgym "
            "images unpack` makes of an image"
        )
    if backend != "namespace" and folder:
        raise InvalidOptionError(f"image {image!r} is a folder: {backend!r} takes an image's name")


def decode(output: bytes) -> str:
    r"""Return a program's output as text: UTF-8, with bytes that are not written as `\xNN`."""
    return output.decode("utf-8", "backslashreplace")


def _announce(verdict: Verdict) -> str:
    word = {
        Status.PASS: "The submission passed.",
        Status.FAIL: "The submission failed.",
        Status.INVALID: "The submission was refused.",
        Status.JUDGE_ERROR: "The episode could not be judged and does not count.",
    }[verdict.status]
    return f"{word} {verdict.reason}".rstrip()


def _printable(text: str) -> str:
    """Escape control characters, so that a transcript cannot rewrite the terminal that shows it."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else json.dumps(char)[1:-1] for char in text
    )


def _rebuild(kind: type[Any], arguments: dict[str, Any]) -> Any:
    return kind(**arguments)
