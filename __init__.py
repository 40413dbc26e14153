"""Environments in which a language model does professional work inside sandboxes."""

from execgym.registration import register_envs

__all__ = ["__version__", "register_envs"]
__version__ = "0.1.0"

register_envs()
