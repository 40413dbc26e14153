"""Public task sets, which execgym loads and does not carry.

A set lies in one folder below `data_directory()`. It gets there by `fetch_dataset`, from its home
with a checksum, or by `import_datasets`, from a folder on this machine.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable

from execgym.envs.errors import EnvError, TaskSetUnavailableError, not_one_of

_MAX_DOWNLOAD_BYTES = 64 * 1024 * 1024
_GITHUB = "https://raw.githubusercontent.com"


class DatasetError(EnvError):
    """A set could not be fetched or imported. Nothing has been changed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFile:
    """One file of a set.

    Attributes:
        path: Where it lies in the set's folder.
        sha256: Digest of the version that execgym has been tested with, in hexadecimal.
        url: Its home at a fixed version, or `""` where its home carries another form of it.
    """

    path: str
    sha256: str
    url: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A public task set.

    Attributes:
        name: Its name here, and its folder's.
        title: What it is, in words.
        licence: Under which terms its home offers it.
        home: Where it comes from.
        files: Files that it must have.
        patterns: Glob patterns of further files that belong to it.
    """

    name: str
    title: str
    licence: str
    home: str
    files: tuple[DatasetFile, ...]
    patterns: tuple[str, ...] = ()

    @property
    def fetchable(self) -> bool:
        """Whether every file of it can be fetched from its home."""
        return not self.patterns and all(file.url for file in self.files)


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="humaneval",
            title="HumanEval: 164 function tasks with checking code",
            licence="MIT",
            home="github.com/openai/human-eval",
            files=(
                DatasetFile(
                    path="HumanEval.jsonl.gz",
                    sha256="b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef",
                    url=f"{_GITHUB}/openai/human-eval/6d43fb980f9fee3c892a914eda09951f772ad10d"
                    "/data/HumanEval.jsonl.gz",
                ),
            ),
        ),
        Dataset(
            name="humaneval_plus_early",
            title="Early HumanEval+: contracts and further inputs for HumanEval",
            licence="Apache-2.0",
            home="github.com/evalplus/evalplus",
            files=(
                DatasetFile(
                    path="HumanEvalPlus.jsonl",
                    sha256="e7679ee8a7b2a02a53d7e0ef111208e71faf1de3eb0e654057f9a64b980a254a",
                ),
                DatasetFile(
                    path="HumanEvalPlusInputs.jsonl",
                    sha256="6720b862bf81586ac969128ecd05611091443b248c94d0d18677fb50d1e53a26",
                ),
            ),
        ),
        Dataset(
            name="mbpp",
            title="MBPP: 974 function tasks with assertions",
            licence="CC BY 4.0",
            home="github.com/google-research/google-research",
            files=(
                DatasetFile(
                    path="mbpp.jsonl",
                    sha256="ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f",
                    url=f"{_GITHUB}/deepseek-ai/DeepSeek-Coder"
                    "/2f9fd85927c669dae3c0fbb2d607274023af243e/Evaluation/MBPP/data/mbpp.jsonl",
                ),
            ),
        ),
        Dataset(
            name="mbpp_plus",
            title="MBPP+ v0.1: 399 MBPP tasks with about 100 further inputs each",
            licence="Apache-2.0 over CC BY 4.0",
            home="github.com/evalplus/evalplus",
            files=(
                DatasetFile(
                    path="MbppPlus.jsonl",
                    sha256="08405a4e8764a4941cfe0945d25a956355a0454f364ea902c4020a44e7057973",
                ),
            ),
        ),
        Dataset(
            name="spider_dev",
            title="Spider's development split: 1,034 questions over 20 databases, as SQLite files",
            licence="CC BY-SA 4.0",
            home="github.com/princeton-nlp/intercode (data/sql/spider)",
            files=(
                DatasetFile(
                    path="ic_spider_dev.json",
                    sha256="68c9ecb0692c80770f46c724cc073ea76be4f301a294caa532c050546948128e",
                ),
            ),
            patterns=("database/*.sqlite",),
        ),
        Dataset(
            name="defog",
            title="Defog's SQL-Eval: 314 questions over 11 databases, as SQLite files",
            licence="Apache-2.0",
            home="github.com/defog-ai/sql-eval",
            files=(
                DatasetFile(
                    path="tasks.json",
                    sha256="e421c0bc0822b7ab92dc3d949252473b1f80a25b03159aa3e151be2bd468ba8d",
                ),
            ),
            patterns=("*.sqlite",),
        ),
        Dataset(
            name="agentbench_dbbench",
            title="AgentBench's dbbench: 200 INSERT and UPDATE tasks on a table each",
            licence="Apache-2.0",
            home="github.com/THUDM/AgentBench (data/dbbench)",
            files=(
                DatasetFile(
                    path="standard.jsonl",
                    sha256="cf8dec6fb8051f46e6171136824aaa8b8707c3affbb3185c0bad2b39bc6b71e2",
                ),
            ),
        ),
    )
}


def data_directory() -> pathlib.Path:
    """Return where sets are kept: `$EXECGYM_DATA`, or `execgym` in the user's data directory."""
    chosen = os.environ.get("EXECGYM_DATA")
    if chosen:
        return pathlib.Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(base) / "execgym"


def dataset_directory(name: str) -> pathlib.Path:
    """Return the folder of a set that is on this machine.

    Raises:
        InvalidOptionError: There is no such set.
        TaskSetUnavailableError: It has not been brought here. The message says how to.
    """
    dataset = _dataset(name)
    folder = data_directory() / name
    missing = [file.path for file in dataset.files if not (folder / file.path).is_file()]
    if missing:
        how = f"`execgym data import DIR` from a folder that holds {missing[0]}"
        if dataset.fetchable:
            how = f"`execgym data fetch {name}`, or {how}"
        raise TaskSetUnavailableError(
            f"the task set {name!r} is not in {folder}: bring it by {how}"
        )
    return folder


def is_available(name: str) -> bool:
    """Return whether a set is on this machine."""
    folder = data_directory() / name
    return all((folder / file.path).is_file() for file in _dataset(name).files)


def fetch_dataset(
    dataset: Dataset, *, progress: Callable[[str], None] = lambda _: None
) -> pathlib.Path:
    """Bring a set from its home, checking every file's digest, and return its folder.

    Raises:
        DatasetError: Its home carries another form of it, or a download failed, was too large, or
            had another digest. What was there before is untouched.
    """
    if not dataset.fetchable:
        raise DatasetError(
            f"{dataset.name} cannot be fetched: its home ({dataset.home}) carries another form of "
            "it. Bring it with `execgym data import DIR` from a folder that holds "
            f"{dataset.files[0].path}."
        )
    with _Staged(dataset.name) as staged:
        for file in dataset.files:
            progress(file.url)
            target = staged.path / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_download(file))
        return staged.commit()


def import_datasets(
    folder: pathlib.Path, *, progress: Callable[[str], None] = lambda _: None
) -> dict[str, pathlib.Path]:
    """Copy every known set that lies in `folder` or below it; return the new folders by name.

    A set is recognised by its files' names and digests. Links are not followed.

    Raises:
        DatasetError: There is no known set there, or a known file has another digest.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder")
    imported: dict[str, pathlib.Path] = {}
    refused: list[str] = []
    folders = sorted(path for path in (folder, *folder.rglob("*")) if path.is_dir())
    for candidate in folders:
        for dataset in DATASETS.values():
            if not all((candidate / file.path).is_file() for file in dataset.files):
                continue
            wrong = [f for f in dataset.files if _digest(candidate / f.path) != f.sha256]
            if wrong:
                refused.append(
                    f"{candidate / wrong[0].path} is not the version that execgym knows "
                    f"(SHA-256 {wrong[0].sha256})"
                )
                continue
            progress(f"{dataset.name} from {candidate}")
            imported[dataset.name] = _copy(dataset, candidate)
    if not imported:
        names = ", ".join(file.path for d in DATASETS.values() for file in d.files)
        raise DatasetError(
            "; ".join(refused) or f"no known task set lies in {folder}; known files are {names}"
        )
    return imported


def _dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise not_one_of("task set", name, DATASETS)
    return DATASETS[name]


def _copy(dataset: Dataset, source: pathlib.Path) -> pathlib.Path:
    paths = [pathlib.PurePath(file.path) for file in dataset.files]
    for pattern in dataset.patterns:
        paths += [path.relative_to(source) for path in sorted(source.glob(pattern))]
    with _Staged(dataset.name) as staged:
        for path in paths:
            origin = source / path
            if origin.is_symlink() or not origin.is_file():
                continue
            target = staged.path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, target)
        return staged.commit()


def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(file: DatasetFile) -> bytes:
    try:
        with urllib.request.urlopen(file.url, timeout=60) as response:  # noqa: S310
            data: bytes = response.read(_MAX_DOWNLOAD_BYTES + 1)
    except (urllib.error.URLError, OSError) as error:
        raise DatasetError(f"{file.url} could not be fetched: {error}") from error
    if len(data) > _MAX_DOWNLOAD_BYTES:
        raise DatasetError(f"{file.url} is larger than {_MAX_DOWNLOAD_BYTES} bytes")
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise DatasetError(f"{file.url} has SHA-256 {found}, not {file.sha256}")
    return data


class _Staged:
    """A folder beside the set's own that replaces it at once, or leaves no trace."""

    def __init__(self, name: str) -> None:
        self._final = data_directory() / name

    def __enter__(self) -> _Staged:
        self._final.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{self._final.name}-"
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=self._final.parent))
        return self

    def commit(self) -> pathlib.Path:
        if self._final.exists():
            shutil.rmtree(self._final)
        self.path.chmod(0o755)
        self.path.rename(self._final)
        return self._final

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
