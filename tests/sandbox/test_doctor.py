"""What the doctor says of this machine, where the suite itself shows that sandboxes run."""

import dataclasses
import subprocess

from execgym.sandbox import Finding, Report, diagnose, doctor


def test_where_sandboxes_run_the_backend_is_namespace_and_nothing_is_wrong():
    report = diagnose()
    assert report.backend == "namespace"
    assert report.reasons == ()


def test_each_fact_has_a_name_and_a_value():
    names = [finding.name for finding in diagnose().findings]
    assert len(set(names)) == len(names)
    assert {"system", "machine", "user", "namespaces", "seccomp", "cgroups", "memory"} <= set(names)
    assert all(finding.value for finding in diagnose().findings)


def test_the_limit_that_binds_first_comes_first():
    capacities = diagnose().capacities
    counts = [capacity.sandboxes for capacity in capacities]
    assert counts == sorted(counts)
    assert all(capacity.sandboxes >= 0 and capacity.advice for capacity in capacities)
    assert len(capacities) >= 4


def test_a_reason_names_what_is_wrong_and_the_way_out():
    bad = Finding(name="namespaces", value="cannot be made", good=False, advice="Set this.")
    report = Report(findings=(bad, Finding(name="x", value="y")), capacities=(), backend="")
    assert report.reasons == ("namespaces: cannot be made. Set this.",)


def test_forbidden_namespaces_leave_no_backend(monkeypatch):
    def refuse(*arguments, **keywords):
        return subprocess.CompletedProcess(arguments, 1)

    monkeypatch.setattr(doctor.subprocess, "run", refuse)
    report = diagnose()
    assert report.backend == ""
    (reason,) = report.reasons
    assert "Operation not permitted" in reason


def test_an_unknown_machine_is_said_to_be_one(monkeypatch):
    monkeypatch.setattr(doctor.platform, "machine", lambda: "vax")
    report = diagnose()
    assert report.backend == ""
    assert "vax" in report.reasons[0]


def test_findings_are_plain_data():
    assert all(dataclasses.is_dataclass(finding) for finding in diagnose().findings)
