"""`execgym/Coding-v0`: write Python functions and programs that hidden tests accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from execgym.envs.coding.judge import CodingJudge
from execgym.envs.coding.sources import load_source
from execgym.envs.core import ExecEnv, ToolResult, decode
from execgym.envs.task import Judge, TaskSource
from execgym.envs.tools import tool
from execgym.judging.candidate import template as coding_template
from execgym.sandbox import CommandResult, SandboxFileError, Template

_SOLUTION = "solution.py"
_LARGEST_FILE = 100_000


class CodingEnv(ExecEnv):
    """Write Python code in a sandbox and submit it.

    Task sources: `"generated"` (splits train and test, levels 1 to 5), and the public sets
    `"humaneval"`, `"humaneval_plus"`, `"mbpp"`, `"mbpp_plus"`, which `execgym data` brings.
    The arguments are those of `execgym.envs.core.ExecEnv`.
    """

    domain: ClassVar[str] = "coding"
    default_tool: ClassVar[str] = "submit"
    template: ClassVar[Template] = coding_template()

    @tool
    async def run_python(self, code: str) -> ToolResult:
        """Run Python code as a script in /workspace and show its exit status and output.

        Args:
            code: The whole script.
        """
        sandbox = await self._workspace()
        result = await sandbox.run_python(code)
        return ToolResult(observation=_describe(result), command=result)

    @tool
    async def write_file(self, path: str, content: str) -> ToolResult:
        """Write a text file in /workspace, replacing what was there.

        Args:
            path: Path below /workspace.
            content: The whole text.
        """
        sandbox = await self._workspace()
        data = content.encode()
        try:
            await sandbox.write_file(path, data)
        except SandboxFileError as error:
            return ToolResult(observation=f"The file was not written: {error}")
        return ToolResult(observation=f"Wrote {len(data)} bytes to {path}.")

    @tool
    async def read_file(self, path: str) -> ToolResult:
        """Read a text file of /workspace.

        Args:
            path: Path below /workspace.
        """
        sandbox = await self._workspace()
        try:
            data = await sandbox.read_file(path, max_bytes=_LARGEST_FILE)
        except SandboxFileError as error:
            return ToolResult(observation=f"The file was not read: {error}")
        return ToolResult(observation=decode(data))

    @tool
    async def submit(self, code: str = "") -> ToolResult:
        """Hand in the solution, which ends the episode and is judged by hidden tests.

        Args:
            code: The whole solution. Leave it empty to hand in /workspace/solution.py as it is.
        """
        if code.strip():
            return ToolResult(observation="Submitted.", artifacts={_SOLUTION: code.encode()})
        artifacts = await self._standing_artifacts()
        if artifacts is None:
            return ToolResult(
                observation="There is nothing to submit: give the solution as `code`, or write "
                f"/workspace/{_SOLUTION} first."
            )
        return ToolResult(observation="Submitted.", artifacts=artifacts)

    async def _standing_artifacts(self) -> Mapping[str, bytes] | None:
        sandbox = await self._used_workspace()
        if sandbox is None:
            return None
        # Nothing may change the file between its reading and its judging.
        await sandbox.freeze()
        try:
            data = await sandbox.read_file(_SOLUTION)
        except SandboxFileError:
            return None
        return {_SOLUTION: data}

    def _load_source(self, tasks: str) -> TaskSource:
        return load_source(tasks)

    def _make_judge(self, backend: str, runtime: str, image: str) -> Judge:
        source = load_source(self._tasks)
        return CodingJudge(source, backend=backend, runtime=runtime, image=image)


def _describe(result: CommandResult) -> str:
    if result.limit:
        ending = f"The code was ended by its {result.limit} limit."
    elif result.signal:
        ending = f"The code was ended by signal {result.signal}."
    else:
        ending = f"Exit status {result.exit_code}."
    parts = [ending]
    for name, data, dropped in (
        ("stdout", result.stdout, result.stdout_dropped),
        ("stderr", result.stderr, result.stderr_dropped),
    ):
        if data:
            note = f" ({dropped} bytes in the middle are left out)" if dropped else ""
            parts.append(f"{name}{note}:\n{decode(data)}")
    return "\n".join(parts)
