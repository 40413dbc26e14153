"""`execgym doctor`: what this machine allows."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from execgym.sandbox import diagnose
from execgym.sandbox.trial import taken_by_auto, try_backends


def doctor() -> None:
    """Print what this machine allows, what will bind first, and the backend that `auto` takes.

    Ends with status 1 where no sandbox can run.
    """
    report = diagnose()
    console = Console()
    facts = Table("fact", "found", "good", "advice", title="This machine")
    for finding in report.findings:
        facts.add_row(finding.name, finding.value, "yes" if finding.good else "no", finding.advice)
    console.print(facts)
    limits = Table("limit", "idle sandboxes", "to raise it", title="What binds first")
    for capacity in report.capacities:
        limits.add_row(capacity.limit, f"{capacity.sandboxes:,}", capacity.advice)
    console.print(limits)
    trials = try_backends()
    backends = Table("backend", "runtime", "runs here", "why not", title="Backends, each tried")
    for trial in trials:
        runs = f"yes, first answer after {trial.seconds:.2f} s" if trial.works else "no"
        backends.add_row(trial.backend, trial.runtime or "", runs, trial.reason)
    console.print(backends)
    taken = taken_by_auto(trials)
    if taken:
        console.print(f"backend='auto' takes {taken!r}.")
        return
    console.print("No backend can run here:")
    for reason in report.reasons:
        console.print(f"- {reason}")
    raise typer.Exit(1)
