"""The package list, the wheel and the public names are what they claim to be."""

import configparser
import pathlib
import subprocess
import sys
import zipfile

import pytest

import execgym

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("agents", "cli", "envs", "judging", "sandbox", "vector", "wrappers")


def test_setup_cfg_lists_every_package():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    found = {
        ".".join(("execgym", *path.parent.relative_to(ROOT).parts))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert listed == found | {"execgym"}


def test_no_module_is_imported_under_its_folders_name():
    code = "import sys, execgym.envs, execgym.vector, execgym.sandbox; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert not set(FOLDERS) & set(output)


def test_importing_execgym_registers_its_ids_and_loads_no_torch():
    code = (
        "import sys, execgym, gymnasium; from execgym.registration import env_ids;"
        "assert set(env_ids()) <= set(gymnasium.registry), gymnasium.registry;"
        "assert 'torch' not in sys.modules and 'execgym.sandbox' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.parent)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # A copy, so that a build leaves nothing in the checkout.
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in files:
        if (ROOT / name).is_file() and not name.startswith(".typing"):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_neither_tests_nor_benchmarks(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    packages = {name.split("/")[0] for name in names}
    assert packages == {"execgym", f"execgym-{execgym.__version__}.dist-info"}
    assert not [name for name in names if name.startswith(("execgym/tests", "execgym/benchmarks"))]
    assert {"execgym/py.typed", "execgym/sandbox/zygote.py"} <= set(names)


def test_an_episode_runs_from_the_wheel_out_of_tree(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import execgym, gymnasium\n"
        f"assert execgym.__file__.startswith({str(tmp_path)!r}), execgym.__file__\n"
        "with gymnasium.make('execgym/SQL-v0', level=1) as env:\n"
        "    env.reset(seed=0)\n"
        "    *_, info = env.step('SELECT 1')\n"
        "assert info['verdict']['status'] == 'fail', info\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True, cwd=tmp_path)
