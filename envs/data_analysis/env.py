"""`execgym/DataAnalysis-v0`: data files in, programs and answers out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from execgym.envs.core import ExecEnv, ToolResult, decode
from execgym.envs.data_analysis.execution import PROGRAM_FILE
from execgym.envs.data_analysis.judge import ANSWER_FILE, DataAnalysisJudge
from execgym.envs.data_analysis.sources import load_source
from execgym.envs.data_analysis.template import TEMPLATE
from execgym.envs.data_analysis.work import TaskKind
from execgym.envs.python_session import CallResult, PythonSession
from execgym.envs.task import Judge, TaskSource
from execgym.envs.tools import tool
from execgym.sandbox import SandboxFileError, Template

_LARGEST_FILE = 100_000
# A restored model remembers variables that it made.
_RESTORED = "(A fresh session: earlier variables are gone, files are still there.)\n"


class DataAnalysisEnv(ExecEnv):
    """Look at data files in a Python session, then hand in a program or an answer.

    `run_python` runs code in a session whose variables live from call to call. `submit` ends the
    episode. A program is run again on the shown files and on hidden ones of the same form, and
    passes if its table is right on all of them; an answer is one JSON object, of which every value
    must be right (see `execgym.judging.cells` for the rules). The metadata of a task say what it
    asks for, under `"kind"`.

    The arguments are those of `execgym.envs.core.ExecEnv`. The backend `namespace` needs numpy and
    pandas beside this package, which the extra `data` brings; the Docker backends need the image
    `execgym/data:latest`.
    """

    domain: ClassVar[str] = "data_analysis"
    default_tool: ClassVar[str] = "submit"
    template: ClassVar[Template] = TEMPLATE
    _session: PythonSession | None = None

    @tool
    async def run_python(self, code: str) -> ToolResult:
        """Run Python code in a session whose variables stay; the last expression is shown.

        Args:
            code: Python statements. They run in /workspace; numpy and pandas can be imported.
        """
        sandbox = await self._workspace()
        if self._session is None or self._session.sandbox is not sandbox:
            self._session = PythonSession(sandbox)
            note = _RESTORED if self._restored is not None else ""
        else:
            note = ""
        result = await self._session.run(code)
        return ToolResult(observation=note + _describe(result), command=result.command)

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
    async def submit(self, content: str = "") -> ToolResult:
        """Hand in the work, which ends the episode and is judged.

        Args:
            content: The whole program, or the answer as a JSON object, whichever the task asks
                for. Leave it empty to hand in the file /workspace/analysis.py or answer.json.
        """
        if content.strip():
            return ToolResult(
                observation="Submitted.", artifacts={self._artifact: content.encode()}
            )
        artifacts = await self._standing_artifacts()
        if artifacts is None:
            return ToolResult(
                observation="There is nothing to submit: give the work as `content`, or write "
                f"/workspace/{self._artifact} first."
            )
        return ToolResult(observation="Submitted.", artifacts=artifacts)

    @property
    def _artifact(self) -> str:
        return ANSWER_FILE if self.task.metadata["kind"] == TaskKind.ANSWER else PROGRAM_FILE

    async def _standing_artifacts(self) -> Mapping[str, bytes] | None:
        sandbox = await self._used_workspace()
        if sandbox is None:
            return None
        # Nothing may change the file between its reading and its judging.
        self._session = None
        await sandbox.freeze()
        try:
            data = await sandbox.read_file(self._artifact)
        except SandboxFileError:
            return None
        return {self._artifact: data}

    def _load_source(self, tasks: str) -> TaskSource:
        return load_source(tasks)

    def _make_judge(self, backend: str, runtime: str, image: str) -> Judge:
        return DataAnalysisJudge(backend, runtime, image)


def _describe(result: CallResult) -> str:
    command = result.command
    parts = []
    if command.stdout:
        text = decode(command.stdout).rstrip("\n")
        if command.stdout_dropped:
            text += f"\n({command.stdout_dropped} bytes in the middle are left out)"
        parts.append(text)
    if result.ended:
        parts.append(
            f"The session has ended: {result.ended}. Its variables are gone, files are still "
            "there; the next call begins a fresh session."
        )
    return "\n".join(parts) or "(no output)"
