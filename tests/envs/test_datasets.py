"""Public sets are brought whole, checked, or not at all."""

import dataclasses
import functools
import hashlib
import http.server
import threading

import pytest

from execgym.envs import datasets
from execgym.envs.errors import InvalidOptionError, TaskSetUnavailableError


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data home"
    monkeypatch.setenv("EXECGYM_DATA", str(folder))
    return folder


@pytest.fixture
def server(tmp_path):
    root = tmp_path / "served"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield root, f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def known(content: bytes, url: str = "") -> datasets.Dataset:
    file = datasets.DatasetFile(
        path="mbpp.jsonl", sha256=hashlib.sha256(content).hexdigest(), url=url
    )
    return dataclasses.replace(datasets.DATASETS["mbpp"], files=(file,))


def test_an_unknown_set_is_refused_with_the_known_names():
    with pytest.raises(InvalidOptionError, match="humaneval"):
        datasets.dataset_directory("humanevil")


def test_a_set_that_is_not_here_says_how_to_bring_it(data):
    with pytest.raises(TaskSetUnavailableError, match="execgym data fetch humaneval"):
        datasets.dataset_directory("humaneval")


def test_every_home_is_reached_by_an_encrypted_connection():
    urls = [file.url for dataset in datasets.DATASETS.values() for file in dataset.files]
    assert all(url.startswith("https://") for url in urls if url)


def test_a_fetched_set_is_available(data, server):
    root, url = server
    (root / "mbpp.jsonl").write_bytes(b"{}")
    folder = datasets.fetch_dataset(known(b"{}", f"{url}/mbpp.jsonl"))
    assert folder == data / "mbpp" == datasets.dataset_directory("mbpp")
    assert [path.name for path in data.iterdir()] == ["mbpp"]


def test_a_download_with_another_digest_changes_nothing(data, server):
    root, url = server
    (root / "mbpp.jsonl").write_bytes(b"old")
    datasets.fetch_dataset(known(b"old", f"{url}/mbpp.jsonl"))
    (root / "mbpp.jsonl").write_bytes(b"forged")
    with pytest.raises(datasets.DatasetError, match="SHA-256"):
        datasets.fetch_dataset(known(b"new", f"{url}/mbpp.jsonl"))
    assert (data / "mbpp" / "mbpp.jsonl").read_bytes() == b"old"
    assert [path.name for path in data.iterdir()] == ["mbpp"]


def test_a_missing_download_is_an_error_that_names_the_address(data, server):
    _, url = server
    with pytest.raises(datasets.DatasetError, match=r"mbpp\.jsonl could not be fetched"):
        datasets.fetch_dataset(known(b"{}", f"{url}/mbpp.jsonl"))


def test_a_set_without_a_home_in_this_form_says_so(data):
    with pytest.raises(datasets.DatasetError, match="execgym data import"):
        datasets.fetch_dataset(datasets.DATASETS["spider_dev"])


def test_importing_finds_sets_below_the_folder(data, tmp_path, monkeypatch):
    source = tmp_path / "mine" / "deep"
    source.mkdir(parents=True)
    (source / "mbpp.jsonl").write_bytes(b"[]")
    (source / "other.txt").write_bytes(b"not ours")
    monkeypatch.setitem(datasets.DATASETS, "mbpp", known(b"[]"))
    assert datasets.import_datasets(tmp_path / "mine") == {"mbpp": data / "mbpp"}
    assert [path.name for path in (data / "mbpp").iterdir()] == ["mbpp.jsonl"]


def test_importing_another_version_is_refused(data, tmp_path):
    (tmp_path / "mbpp.jsonl").write_bytes(b"changed")
    with pytest.raises(datasets.DatasetError, match="not the version"):
        datasets.import_datasets(tmp_path)
    assert not datasets.is_available("mbpp")


def test_importing_an_empty_folder_names_the_known_files(data, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(datasets.DatasetError, match=r"HumanEval\.jsonl\.gz"):
        datasets.import_datasets(tmp_path / "empty")
