"""The `execgym` command and its subcommands."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

import execgym
from execgym.cli import data, doctor, images, play, train, validate

app = typer.Typer(
    name="execgym",
    help="Environments in which a language model does professional work inside sandboxes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
app.add_typer(images.app, name="images")
app.command("doctor")(doctor.doctor)
app.command("run")(play.run)
app.command("train")(train.train)
app.command("validate")(validate.validate)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        typer.echo(execgym.__version__)
        raise typer.Exit


@app.command("list")
def list_envs() -> None:
    """List the environments, their task sources, splits and levels."""
    import gymnasium

    from execgym.cli.sources import source_names
    from execgym.envs.errors import TaskSetUnavailableError
    from execgym.registration import env_ids

    table = Table("id", "tasks", "split", "levels", "count")
    for column in table.columns:
        column.no_wrap = True
    for env_id in env_ids():
        for name in source_names(env_id):
            try:
                env = gymnasium.make(env_id, tasks=name, split="test").unwrapped
            except TaskSetUnavailableError:
                table.add_row(env_id, name, "", "", "execgym data")
                continue
            source = env.get_wrapper_attr("task_source")
            for split in source.splits:
                ids = source.ids(split)
                levels = ", ".join(str(level) for level in source.levels(split))
                table.add_row(
                    env_id, name, split, levels, "endless" if ids is None else str(len(ids))
                )
            env.close()
    Console().print(table)


if __name__ == "__main__":
    app()
