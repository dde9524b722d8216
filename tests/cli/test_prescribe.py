"""`stethoscope prescribe`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from stethoscope.cli.prescribe import command
from stethoscope.errors import StethoscopeError
from tests.prescription.patients import LOG, MENDED, MENDED_ALL, SETTINGS, contents, sick_project


def asked(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False)


def refused(*arguments: str | Path) -> str:
    done = asked(*arguments)
    assert isinstance(done.exception, StethoscopeError), done.output
    return str(done.exception)


def settings_of(project: Path) -> str:
    return (project / "settings.yml").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return sick_project(tmp_path / "nano")


def git(project: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(project), *who, *arguments], check=True, capture_output=True)


# --- shown --------------------------------------------------------------------------------------------


def test_what_is_prescribed_is_shown_and_nothing_is_changed(project: Path) -> None:
    before = contents(project)
    done = asked(project)
    assert done.return_value == 1
    assert "-lr: 2e-4   # the peak" in done.output
    assert "+lr: 2.0e-4   # the peak" in done.output
    assert "--write applies 1 remedy, in 1 file." in done.output
    assert "need --level unsafe: end-the-warm-up-in-time." in done.output
    assert contents(project) == before
    assert not (project / ".stethoscope").exists()


def test_the_diff_is_what_write_would_change_and_can_be_applied(project: Path, tmp_path: Path) -> None:
    done = asked(project, "--diff")
    assert done.return_value == 1
    assert "warmup" not in [line[1:7] for line in done.output.splitlines() if line[:1] in "+-"]
    patch = tmp_path / "mend.diff"
    patch.write_text(done.output)
    subprocess.run(["patch", "-d", "/", "-p1", "-i", str(patch)], check=True, capture_output=True)
    assert settings_of(project) == MENDED


def test_json_has_what_programs_need(project: Path) -> None:
    told = json.loads(asked(project, "--format", "json").output)
    assert told["schema"] == 1
    applies = {edit["remedy"]: (edit["applies"], edit["left_because"]) for edit in told["edits"]}
    assert applies == {
        "write-the-number-with-a-dot": (True, None),
        "end-the-warm-up-in-time": (False, "unsafe"),
    }
    assert [option["name"] for option in told["options"]] == ["quick", "repair", "proper"]
    assert [option["open"] for option in told["options"]] == [False, False, True]
    assert told["written"] is None
    assert {"checkpoint", "advice", "expect", "log_next_time", "not_recommended", "ladder"} <= told.keys()


def test_a_healthy_run_needs_nothing(healthy_run: Path) -> None:
    done = asked(healthy_run)
    assert done.return_value == 0
    assert "No edit is prescribed." in done.output


def test_what_cannot_be_examined_is_not_prescribed_for(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("step,loss\n0,1.0\n")
    assert asked(tmp_path).return_value == 2
    assert "too little" in refused(tmp_path, "--write")


# --- written and put back -----------------------------------------------------------------------------


def test_writing_changes_only_the_lines_concerned_and_is_undone_byte_for_byte(project: Path) -> None:
    (project / "settings.yml").chmod(0o640)
    before = contents(project)
    done = asked(project, "--write")
    assert done.return_value == 1  # the warm-up is left
    assert settings_of(project) == MENDED
    assert (project / "settings.yml").stat().st_mode & 0o777 == 0o640
    assert "settings.yml: write-the-number-with-a-dot" in done.output

    again = asked(project, "--write")
    assert "There is nothing left to write." in again.output
    assert "write-the-number-with-a-dot; --undo puts it back" in again.output

    more = asked(project, "--write", "--level", "unsafe")
    assert more.return_value == 0
    assert settings_of(project) == MENDED_ALL
    last = asked(project, "--write", "--level", "unsafe")
    assert (last.return_value, "nothing left to write" in last.output) == (0, True)

    assert "Put back as before" in asked(project, "--undo").output
    assert settings_of(project) == MENDED
    asked("--undo", project)
    assert contents(project) == before
    assert "left to undo" in refused("--undo", project)


def test_undo_finds_the_project_from_the_working_directory(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(project, "--write")
    (project / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "down")
    told = json.loads(asked("--undo", "--format", "json").output)
    assert told["undone"]["files"] == ["settings.yml"]
    assert settings_of(project) == SETTINGS


def test_undo_where_nothing_was_written(tmp_path: Path) -> None:
    assert "nothing was written in or around" in refused("--undo", tmp_path)


def test_line_ends_and_a_byte_order_mark_stay(project: Path) -> None:
    content = b"\xef\xbb\xbf" + SETTINGS.replace("\n", "\r\n").encode()
    (project / "settings.yml").write_bytes(content)
    asked(project, "--write")
    assert (project / "settings.yml").read_bytes() == content.replace(b"2e-4", b"2.0e-4")


def test_a_link_inside_the_project_is_followed_and_stays_one(project: Path) -> None:
    (project / "kept").mkdir()
    (project / "settings.yml").rename(project / "kept" / "real.txt")
    (project / "settings.yml").symlink_to(project / "kept" / "real.txt")
    asked(project, "--write")
    assert (project / "settings.yml").is_symlink()
    assert (project / "kept" / "real.txt").read_text() == MENDED


def test_nothing_is_written_outside_the_project(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.yml"
    elsewhere.write_text(SETTINGS)
    done = asked(project, "--config", elsewhere, "--project", project, "--write")
    assert done.return_value == 1
    assert "is not in the project" in done.output
    assert elsewhere.read_text() == SETTINGS


def test_an_interrupted_call_is_put_right_before_the_next(project: Path) -> None:
    from stethoscope.prescription.applying.journal import _begun, _held
    from stethoscope.prescription.applying.plan import FileChange

    half = FileChange(project / "settings.yml", "settings.yml", SETTINGS.encode(), b"lr: half\n")
    with _held(project) as shelf:
        _begun(project, shelf, [half], "killed", "")
    (project / "settings.yml").write_bytes(b"lr: half\n")
    shown = asked(project)
    assert "was interrupted while it wrote" in shown.stderr
    done = asked(project, "--write")
    assert "what it had written is put back: settings.yml" in done.stderr
    assert settings_of(project) == MENDED


# --- git ----------------------------------------------------------------------------------------------


def test_uncommitted_changes_of_a_file_concerned_are_not_mixed_up(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "settings.yml", "pyproject.toml")
    git(project, "commit", "-q", "-m", "one")
    (project / "pyproject.toml").write_text("# not concerned\n")
    (project / "settings.yml").write_text(SETTINGS + "# mine\n")
    said = refused(project, "--write")
    assert "settings.yml: changes that are not committed" in said
    assert "--force" in said
    assert settings_of(project) == SETTINGS + "# mine\n"

    asked(project, "--write", "--force")
    assert settings_of(project) == MENDED + "# mine\n"
    # What we wrote ourselves is no reason to refuse.
    asked(project, "--write", "--level", "unsafe")
    assert settings_of(project) == MENDED_ALL + "# mine\n"
    status = subprocess.run(
        ["git", "-C", str(project), "status", "--porcelain"], capture_output=True, check=True
    )
    assert b".stethoscope" not in status.stdout


def test_a_clean_tree_is_written_without_a_question(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "one")
    asked(project, "--write")
    assert settings_of(project) == MENDED


# --- records and copies -------------------------------------------------------------------------------


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A run whose settings are the copy that a framework dumped."""
    folder = tmp_path / "experiments" / "one"
    folder.mkdir(parents=True)
    (folder / "hparams.yaml").write_text(SETTINGS)
    (folder / "train.log").write_text(LOG)
    return folder


def test_a_record_is_never_written_and_a_copy_is(record: Path, tmp_path: Path) -> None:
    before = contents(record)
    done = asked(record, "--write")
    assert done.return_value == 1
    assert "is a record of the run" in done.output
    assert contents(record) == before

    into = tmp_path / "mended"
    done = asked(record, "--into", into, "--level", "unsafe")
    assert done.return_value == 0
    assert (into / "hparams.yaml").read_text() == MENDED_ALL
    assert contents(record) == before
    assert "is not an empty folder" in refused(record, "--into", into)


def test_the_corrected_settings_are_written_whole(record: Path, tmp_path: Path) -> None:
    target = tmp_path / "next.yaml"
    asked(record, "--config-out", target)
    assert target.read_text() == MENDED
    assert "--force overwrites it" in refused(record, "--config-out", target)
    asked(record, "--config-out", target, "--force", "--level", "unsafe")
    assert target.read_text() == MENDED_ALL


def test_programs_are_told_what_was_written(record: Path, project: Path, tmp_path: Path) -> None:
    into = tmp_path / "mended"
    told = json.loads(asked(record, "--into", into, "--format", "json").output)
    assert told["written"] == {"into": str(into), "files": ["hparams.yaml"]}
    told = json.loads(asked(project, "--write", "--format", "json").output)
    assert told["written"]["files"] == ["settings.yml"]
    assert told["written"]["remedies"] == ["write-the-number-with-a-dot"]


def test_without_settings_there_are_none_to_correct(broken_run: Path, tmp_path: Path) -> None:
    assert "no settings file was read" in refused(broken_run, "--config-out", tmp_path / "next.yaml")


# --- refusals -----------------------------------------------------------------------------------------


def test_one_thing_at_a_time(project: Path) -> None:
    done = asked(project, "--write", "--diff")
    assert "--diff and --write are different things to do" in str(done.exception)
    assert "Missing argument" in str(asked().exception)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything may be written by root")
def test_a_project_without_the_right_to_write(project: Path) -> None:
    project.chmod(0o555)
    try:
        assert "permission denied" in refused(project, "--write")
    finally:
        project.chmod(0o755)
    assert settings_of(project) == SETTINGS


def test_a_read_only_file_is_left_alone(project: Path) -> None:
    (project / "settings.yml").chmod(0o444)
    assert "settings.yml is read-only" in refused(project, "--write")
    assert settings_of(project) == SETTINGS


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 500, b"step,loss\n" + b"0,nan\n" * 50, b"{" * 2000])
def test_hostile_input_ends_with_a_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(content)
    for options in (("--write",), ("--into", tmp_path / "into"), ("--diff",)):
        done = asked(tmp_path / "run.log", *options)
        assert done.exception is None or isinstance(done.exception, StethoscopeError)
    assert not (tmp_path / ".stethoscope").exists()
    assert not (tmp_path / "into").exists()


def test_standard_input_is_prescribed_for_and_never_written(tmp_path: Path) -> None:
    log = "step,loss\n" + "".join(f"{step},{1 / (step + 1) if step < 80 else 'nan'}\n" for step in range(100))
    done = CliRunner().invoke(command, ["-", "--write"], input=log, standalone_mode=False)
    assert done.exception is None
    assert "There is nothing left to write." in done.output


def test_a_trajectory_is_written_and_put_back_with_the_edits(project: Path) -> None:
    before, target = contents(project), project / "stethoscope.toml"
    asked(project, "--write", "--trajectory", target)
    assert settings_of(project) == MENDED
    assert "schema = 1" in target.read_text()
    assert "settings.yml" in asked("--undo", project).output
    assert contents(project) == before


def test_a_trajectory_by_itself_is_taken_back_too(project: Path) -> None:
    before, target = contents(project), project / "stethoscope.toml"
    asked(project, "--trajectory", target)
    assert "stethoscope.toml" in asked("--undo", project).output
    assert contents(project) == before
    target.write_text("mine\n")
    asked(project, "--trajectory", target, "--force")
    assert "schema = 1" in target.read_text()
    asked("--undo", project)
    assert target.read_text() == "mine\n"


def test_what_is_shown_can_be_redacted_and_what_is_written_is_not(project: Path) -> None:
    (project / "settings.yml").write_text(SETTINGS + "wandb_api_key: 0123456789abcdef0123\n")
    for form in ("text", "json"):
        done = asked(project, "--redact", "--format", form)
        assert done.exception is None
        assert str(project.parent) not in done.output
        assert "0123456789abcdef0123" not in done.output
        assert "settings.yml" in done.output
        assert "+lr: 2.0e-4" in done.output
    written = asked(project, "--redact", "--write")
    assert str(project.parent) not in written.output
    assert (project / "settings.yml").read_text() == MENDED + "wandb_api_key: 0123456789abcdef0123\n"
    assert isinstance(asked(project, "--redact", "--diff").exception, click.UsageError)


def test_the_next_run_is_held_to_a_trajectory(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "stethoscope.toml"
    asked(project, "--trajectory", target)
    assert "schema = 1" in target.read_text()
    assert "--force overwrites it" in refused(project, "--trajectory", target)
