"""The commands, run in this process."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from stethoscope.cli import stethoscope
from stethoscope.cli.diagnose import exit_status
from stethoscope.errors import NothingToRead, UnknownRule
from stethoscope.findings import catalogue
from tests.report import patients


def run(*arguments: str | Path) -> tuple[object, str]:
    result = CliRunner().invoke(
        stethoscope, [*map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )
    if result.exception:
        raise result.exception
    return result.return_value, result.stdout


def test_a_path_alone_is_diagnosed(healthy_run: Path) -> None:
    status, told = run(healthy_run)
    assert told.startswith("well is healthy (")
    assert status == 0
    assert run("diagnose", healthy_run) == (status, told)


def test_options_may_stand_before_the_path(broken_run: Path) -> None:
    status, told = run("--format", "json", broken_run)
    assert json.loads(told)["findings"][0]["code"] == "NUM101"
    assert status == 1


def test_the_exit_status_follows_the_verdict() -> None:
    assert exit_status(patients.healthy()) == 0
    assert exit_status(patients.sick()) == 1
    assert exit_status(patients.unknown()) == 1
    assert exit_status(patients.too_little()) == 2


def test_a_run_named_like_a_command_is_reached_by_its_path(
    healthy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(healthy_run, tmp_path / "rules")
    monkeypatch.chdir(tmp_path)
    assert run("./rules")[1].startswith("rules is healthy (")
    assert "AMP101" in run("rules")[1]


def test_a_path_that_does_not_exist_is_named_as_typed() -> None:
    with pytest.raises(NothingToRead, match="runs/nanoo does not exist"):
        run("runs/nanoo")
    with pytest.raises(NothingToRead, match="Did you mean the command `stethoscope rules`"):
        run("ruels")


def test_a_rule_is_explained_by_code_or_name() -> None:
    _, told = run("explain", "AMP101")
    assert told.startswith("AMP101 loss-scale-collapse (amp, critical)\n")
    assert "When it is harmless\n" in told
    assert run("explain", "Loss_Scale_Collapse")[1] == told


def test_a_cause_is_explained_by_name() -> None:
    assert "What cures it\n" in run("explain", "loss-sign-inverted")[1]


def test_a_name_that_no_page_has_suggests_the_nearest() -> None:
    with pytest.raises(UnknownRule, match="did you mean loss-scale-collapse"):
        run("explain", "loss-scale-colapse")


def test_every_rule_is_listed_in_both_formats() -> None:
    _, told = run("rules")
    listed = json.loads(run("rules", "--format", "json")[1])["rules"]
    assert [rule["code"] for rule in listed] == [rule.code for rule in catalogue()]
    assert all(rule["code"] in told and rule["name"] in told for rule in listed)


@pytest.mark.parametrize(
    ("shell", "says"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --")]
)
def test_each_shell_gets_its_completion_script(shell: str, says: str) -> None:
    _, script = run("completion", shell)
    assert says in script
    assert "_STETHOSCOPE_COMPLETE" in script
