"""`execgym data`: bring public task sets to this machine."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from execgym.cli.failure import fail
from execgym.envs.datasets import (
    DATASETS,
    DatasetError,
    data_directory,
    fetch_dataset,
    import_datasets,
    is_available,
)
from execgym.envs.errors import not_one_of

app = typer.Typer(help="Bring public task sets to this machine.", no_args_is_help=True)


@app.command("list")
def list_datasets() -> None:
    """List the known sets, their licences, and which are on this machine."""
    table = Table("name", "what", "licence", "here", "fetch", title=str(data_directory()))
    for dataset in DATASETS.values():
        table.add_row(
            dataset.name,
            dataset.title,
            dataset.licence,
            "yes" if is_available(dataset.name) else "no",
            "yes" if dataset.fetchable else "import only",
        )
    Console().print(table)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="The set's name; see `execgym data list`.")],
) -> None:
    """Bring a set from its home, checked against its known digest."""
    if name not in DATASETS:
        fail(not_one_of("task set", name, DATASETS))
    try:
        folder = fetch_dataset(DATASETS[name], progress=lambda url: typer.echo(f"fetching {url}"))
    except DatasetError as error:
        fail(error)
    typer.echo(f"{name} is in {folder}")


@app.command("import")
def import_folder(
    folder: Annotated[pathlib.Path, typer.Argument(help="A folder that holds one set or several.")],
) -> None:
    """Copy every known set that lies in a folder or below it."""
    try:
        imported = import_datasets(folder, progress=typer.echo)
    except DatasetError as error:
        fail(error)
    for name, path in imported.items():
        typer.echo(f"{name} is in {path}")
