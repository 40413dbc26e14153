"""Docstring examples run under their real module names."""

import doctest
import importlib
import pkgutil

import pytest

import execgym


def modules():
    for top in ("agents", "cli", "envs", "judging", "sandbox", "vector", "wrappers"):
        package = importlib.import_module(f"{execgym.__name__}.{top}")
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_doctests(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
