"""`execgym images`: the container images that the Docker backends start sandboxes from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from execgym.cli.failure import fail
from execgym.sandbox.images import (
    ImageError,
    build_images,
    check_images,
    image_states,
    unpack_image,
)

app = typer.Typer(
    help="Build, list, check and unpack the container images of the Docker backends.",
    no_args_is_help=True,
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
    table = Table("name", "here", "python", "size", "digest", "what")
    for state in states:
        row = [state.template.name]
        if state.record is None:
            row += ["no", "", "", ""]
        else:
            size = f"{state.record.size_bytes / 1e6:,.0f} MB"
            here = "yes" if state.current else "outdated"
            row += [here, state.record.python, size, state.record.digest[:19]]
        table.add_row(*row, state.template.title)
    Console().print(table)


@app.command()
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names from `execgym images list`; all that are here without one."),
    ] = None,
) -> None:
    """Check that images hold what their records say, give no privileges, and make sandboxes."""
    try:
        findings = check_images(names or ())
    except ImageError as error:
        fail(error)
    table = Table("image", "what", "", "found")
    for finding in findings:
        mark = "[green]ok[/]" if finding.passed else "[red]no[/]"
        table.add_row(finding.image, finding.what, mark, escape(finding.detail))
    Console().print(table)
    if not all(finding.passed for finding in findings):
        raise typer.Exit(1)


@app.command()
def unpack(
    name: Annotated[str, typer.Argument(help="From `execgym images list`, or any image's name.")],
    folder: Annotated[str, typer.Argument(help="A folder that is not there yet.")],
) -> None:
    """Unpack an image, for `make(..., backend="namespace", image=FOLDER)`."""
    try:
        record = unpack_image(name, folder)
    except ImageError as error:
        fail(error)
    typer.echo(f"{name} is unpacked: {record.digest}")
