"""What runs inside a sandbox: standard library only, and the language of Python 3.8."""

import ast
import importlib.resources
import sys

import pytest

from execgym.sandbox import stages

STAGES = tuple(dict.fromkeys(stages.STAGE_SOURCES + stages.LONE_STAGE_SOURCES))


def source(name):
    return importlib.resources.files("execgym.sandbox").joinpath(f"{name}.py").read_text("utf-8")


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_is_written_in_python_3_8(name):
    ast.parse(source(name), feature_version=(3, 8))


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_imports_the_standard_library_and_earlier_stages_only(name):
    for node in ast.walk(ast.parse(source(name))):
        if isinstance(node, ast.Import):
            tops = {alias.name.split(".")[0] for alias in node.names}
            assert tops <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.module == "execgym.sandbox":
            assert {alias.name for alias in node.names} <= set(STAGES[: STAGES.index(name)])
        elif isinstance(node, ast.ImportFrom):
            assert node.module.split(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_postpones_its_annotations(name):
    assert "from __future__ import annotations" in source(name)
