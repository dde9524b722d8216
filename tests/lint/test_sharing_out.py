"""A large program is looked at by several processes, and nobody can tell from the report."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stethoscope.cli.lint import command
from stethoscope.findings import RuleEntry
from stethoscope.lint import examined, gather, rules_asked_for, sharing_out
from stethoscope.lint.patients import Patients
from stethoscope.report import lint_json
from tests.lint.trainings import SICK

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sharing_out, "LARGE", 1)
    (tmp_path / "train.py").write_text(SICK)
    (tmp_path / "config.yml").write_text("lr: 1e-3\nlr: 1e-4\nscheduler:\n  T_max: on\n")
    return tmp_path


def told(project: Path, jobs: int) -> str:
    files = gather([str(project)])
    return lint_json.render(examined(files, (str(project),), rules_asked_for(files.settings), jobs=jobs))


@pytest.mark.parametrize("jobs", [2, 3, 64])
def test_any_number_of_processes_tells_the_same(project: Path, jobs: int) -> None:
    alone = told(project, 1)
    assert '"SET109"' in alone
    assert told(project, jobs) == alone


def test_what_a_process_that_died_had_taken_is_looked_at_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, here = told(project, 1), os.getpid()
    looked = sharing_out._looked

    def dies_elsewhere(rules: list[RuleEntry], read: Patients) -> sharing_out.Outcomes:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return looked(rules, read)

    monkeypatch.setattr(sharing_out, "_looked", dies_elsewhere)
    assert told(project, 3) == alone


def test_what_goes_wrong_elsewhere_is_told_here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(rules: list[RuleEntry], read: Patients) -> sharing_out.Outcomes:
        raise ValueError("a rule is broken")

    monkeypatch.setattr(sharing_out, "_looked", fails)
    with pytest.raises(ValueError, match="a rule is broken"):
        told(project, 2)


def test_a_small_program_is_looked_at_in_this_process(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing_out, "LARGE", 50_000)
    monkeypatch.setattr(sharing_out, "_together", None)
    assert '"SET109"' in told(project, 8)


def test_the_command_takes_a_number_of_processes(project: Path) -> None:
    texts = {
        CliRunner().invoke(command, [str(project), "--jobs", jobs, "--format", "json"]).stdout
        for jobs in ("1", "2")
    }
    assert len(texts) == 1
    refused = CliRunner().invoke(command, [str(project), "--jobs", "0"])
    assert refused.exit_code == 2
    assert "--jobs" in refused.stderr
