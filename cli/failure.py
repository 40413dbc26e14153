"""How the command line says that something went wrong."""

from __future__ import annotations

from typing import NoReturn

import typer


def fail(error: Exception) -> NoReturn:
    """Print the error's text on standard error and end with status 2."""
    typer.secho(f"execgym: {error}", err=True, fg=typer.colors.RED)
    raise typer.Exit(2)
