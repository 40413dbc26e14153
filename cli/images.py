"""`execgym images`: the container images that the Docker backends start sandboxes from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from execgym.cli.failure import fail
from execgym.sandbox.images import ImageError, build_images, image_states

app = typer.Typer(
    help="Build and list the container images of the Docker backends.", no_args_is_help=True
)


@app.command()
def build(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names from `execgym images list`; all without one.")
    ] = None,
    base: Annotated[
        str,
        typer.Option(
            help="What `base` is built on: `debian` to make one from Debian's packages with "
            "mmdebstrap, or an image that has a Python. Without it, what it is built on now, else "
            "the official slim Python image."
        ),
    ] = "",
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build anew though nothing has changed.")
    ] = False,
) -> None:
    """Build images, and those that they are built on, where what is put in has changed."""
    try:
        images = build_images(names or (), base=base, rebuild=rebuild, progress=typer.echo)
    except ImageError as error:
        fail(error)
    for image in images:
        done = "is built" if image.built else "was there already"
        typer.echo(f"{image.record.name} {done}: {image.record.digest}")


@app.command("list")
def list_images() -> None:
    """List the known images, and what the Docker daemon has of them."""
    try:
        states = image_states()
    except ImageError as error:
        fail(error)
    table = Table("name", "what", "here", "python", "size", "digest")
    for state in states:
        row = [state.template.name, state.template.title]
        if state.record is None:
            row += ["no", "", "", ""]
        else:
            size = f"{state.record.size_bytes / 1e6:,.0f} MB"
            here = "yes" if state.current else "outdated"
            row += [here, state.record.python, size, state.record.digest[:19]]
        table.add_row(*row)
    Console().print(table)
