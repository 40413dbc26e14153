"""The `execgym` command."""
