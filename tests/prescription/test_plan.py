"""Which edits are made, in which files, and why the others are left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stethoscope.prescription.applying.copies import copies, corrected_config, write_into
from stethoscope.prescription.applying.plan import Reason, planned
from stethoscope.prescription.applying.project import is_inside, project_around
from stethoscope.prescription.edits.diff import spliced
from stethoscope.prescription.originals import Original, original_of
from stethoscope.prescription.remedy import UNPROVED, Edit
from stethoscope.run import ConfigFile, Level, Program, Recipe, Run, Source, Splice

CODE = "a = 1\nb = 2\n"
YAML = "lr: 1\nsteps: 2\n"


def project(folder: Path, maintained: bool = True) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(CODE)
    (folder / "c.yml").write_text(YAML)
    code, config = str(folder / "train.py"), str(folder / "c.yml")
    program = Program(str(folder), (Source(code, "train", CODE, ast.parse(CODE)),), maintained=maintained)
    recipe = Recipe(files=(ConfigFile(config, YAML, "run", maintained=maintained),))
    return Run(str(folder), folder.name, recipe=recipe, program=program)


def edit(
    run: Run, file: str, start: int, end: int, text: str, remedy: str = "mend", level: Level = Level.SAFE
) -> Edit:
    whole = str(Path(run.path) / file)
    proof = UNPROVED if level is Level.DISPLAY else "a trial"
    kind = "source" if file.endswith(".py") else "config"
    maintained = bool(run.program and run.program.maintained)
    splices = (Splice(whole, start, end, text),)
    return Edit(remedy, ("cause",), whole, kind, level, "diff", proof, maintained, splices)


def test_edits_of_several_remedies_meet_in_one_file(tmp_path: Path) -> None:
    run = project(tmp_path)
    edits = [edit(run, "train.py", 4, 5, "10"), edit(run, "train.py", 10, 11, "20", "other")]
    plan = planned(edits, run, Level.SAFE, tmp_path)
    (change,) = plan.changes
    assert change.after == b"a = 10\nb = 20\n"
    assert change.remedies == ("mend", "other")


def test_a_remedy_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    run = project(tmp_path)
    edits = [edit(run, "c.yml", 4, 5, "3"), edit(run, "train.py", 4, 5, "(")]
    plan = planned(edits, run, Level.SAFE, tmp_path)
    assert plan.changes == ()
    assert {one.reason for one in plan.left} == {Reason.REFUSED}
    assert "would leave it unreadable" in plan.left[0].why


def test_levels_decide(tmp_path: Path) -> None:
    run = project(tmp_path)
    unsafe = edit(run, "c.yml", 4, 5, "3", "unsafe-one", Level.UNSAFE)
    shown = edit(run, "train.py", 4, 5, "3", "shown-one", Level.DISPLAY)
    safe = planned([unsafe, shown], run, Level.SAFE, tmp_path)
    assert [one.reason for one in safe.left] == [Reason.UNSAFE, Reason.DISPLAY]
    both = planned([unsafe, shown], run, Level.UNSAFE, tmp_path)
    assert [change.file for change in both.changes] == [unsafe.file]
    assert both.left_for(Reason.DISPLAY)[0].why == "shown only, because it is unproved"


def test_of_two_edits_in_one_place_the_first_is_made(tmp_path: Path) -> None:
    run = project(tmp_path)
    edits = [edit(run, "c.yml", 4, 5, "3"), edit(run, "c.yml", 4, 5, "9", "other")]
    plan = planned(edits, run, Level.SAFE, tmp_path)
    assert plan.changes[0].after == b"lr: 3\nsteps: 2\n"
    assert (plan.left[0].reason, plan.left[0].edit.remedy) == (Reason.OVERLAP, "other")


def test_what_two_causes_ask_for_alike_is_made_once(tmp_path: Path) -> None:
    run = project(tmp_path)
    plan = planned([edit(run, "c.yml", 4, 5, "3")] * 2, run, Level.SAFE, tmp_path)
    assert plan.changes[0].after == b"lr: 3\nsteps: 2\n"
    assert plan.left == ()


def test_a_file_that_changed_since_is_refused(tmp_path: Path) -> None:
    run = project(tmp_path)
    (tmp_path / "c.yml").write_text("lr: 7\n")
    plan = planned([edit(run, "c.yml", 4, 5, "3")], run, Level.SAFE, tmp_path)
    assert "changed since it was read" in plan.left[0].why


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    run = project(tmp_path)
    (tmp_path / "c.yml").unlink()
    plan = planned([edit(run, "c.yml", 4, 5, "3")], run, Level.SAFE, tmp_path)
    assert "could not be read" in plan.left[0].why


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    run = project(tmp_path / "project")
    outside = tmp_path / "outside.yml"
    outside.write_text(YAML)
    (tmp_path / "project" / "c.yml").unlink()
    (tmp_path / "project" / "c.yml").symlink_to(outside)
    plan = planned([edit(run, "c.yml", 4, 5, "3")], run, Level.SAFE, tmp_path / "project")
    assert [one.reason for one in plan.left] == [Reason.OUTSIDE]


def test_a_record_is_changed_in_a_copy_only(tmp_path: Path) -> None:
    run = project(tmp_path / "run", maintained=False)
    edits = [edit(run, "c.yml", 4, 5, "3")]
    assert planned(edits, run, Level.SAFE, tmp_path).left[0].reason is Reason.RECORD
    plan = planned(edits, run, Level.SAFE, None, in_copies=True)
    (tmp_path / "run" / "train.py").chmod(0o755)
    write_into(tmp_path / "new" / "copy", copies(run, plan))
    copied = tmp_path / "new" / "copy"
    assert (copied / "c.yml").read_text() == "lr: 3\nsteps: 2\n"
    assert (copied / "train.py").read_text() == CODE
    assert (copied / "train.py").stat().st_mode & 0o100
    assert (tmp_path / "run" / "c.yml").read_text() == YAML
    corrected = corrected_config(run, plan)
    assert corrected is not None
    assert corrected.content == b"lr: 3\nsteps: 2\n"


def test_settings_that_a_log_holds_become_a_file_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("config:\n" + YAML + "step 1\n")
    config = ConfigFile(str(log), YAML, "log", maintained=False)
    run = Run(str(tmp_path), "run", recipe=Recipe(files=(config,)))
    splices = (Splice(str(log), 4, 5, "3"),)
    one = Edit("mend", ("cause",), str(log), "config", Level.SAFE, "diff", "a trial", False, splices)
    plan = planned([one], run, Level.SAFE, None, in_copies=True)
    (copied,) = copies(run, plan)
    assert (copied.name, copied.content) == ("settings.yaml", b"lr: 3\nsteps: 2\n")


# --- projects and originals ---------------------------------------------------------------------------


def test_the_repository_around_a_file_is_its_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "pyproject.toml").write_text("")
    assert project_around(tmp_path / "package" / "a.py") == tmp_path.resolve()
    alone = tmp_path / "x" / "y"
    assert is_inside(alone, tmp_path)
    assert not is_inside(tmp_path / ".." / "z", tmp_path)


def test_a_folder_that_is_no_project_is_its_own(tmp_path: Path) -> None:
    run = project(tmp_path / "src")
    assert project_around(tmp_path / "src" / "train.py", run) == (tmp_path / "src").resolve()


def test_settings_in_the_folder_of_a_run_are_the_runs_unless_they_were_named(tmp_path: Path) -> None:
    code = project(tmp_path / "project")
    home = tmp_path / "project" / "out"
    home.mkdir()
    (home / "c.yml").write_text(YAML)
    for origin, left in (("run", [Reason.RECORD]), ("given", [])):
        config = ConfigFile(str(home / "c.yml"), YAML, origin)
        run = Run(str(home), "out", recipe=Recipe(files=(config,)), program=code.program)
        plan = planned([edit(run, "c.yml", 4, 5, "3")], run, Level.SAFE, tmp_path / "project")
        assert [one.reason for one in plan.left] == left


@pytest.fixture
def trained(tmp_path: Path) -> Run:
    """A run in a folder of its project, with a copy of the settings that it was started with."""
    run = project(tmp_path / "project")
    home = tmp_path / "project" / "out"
    home.mkdir()
    (home / "c.yml").write_text(YAML)
    return Run(str(home), "out", recipe=run.recipe, program=run.program)


def changed(run: Run, text: str = YAML) -> Original | None:
    """The original of the run's copy, with another rate."""
    copy = str(Path(run.path) / "c.yml")
    return original_of(copy, text, [Splice(copy, 4, 5, "3")], run)


def test_the_copy_that_a_run_keeps_leads_to_its_original(trained: Run) -> None:
    original = changed(trained)
    assert original is not None
    assert Path(original.file) == Path(trained.path).parent / "c.yml"
    assert spliced(original.text, original.splices) == "lr: 3\nsteps: 2\n"


def test_an_original_that_has_other_lines_by_now_is_changed_at_the_same_setting(trained: Run) -> None:
    (Path(trained.path).parent / "c.yml").write_text("# new\nsteps: 9\nlr: 1 # still\n")
    original = changed(trained)
    assert original is not None
    assert spliced(original.text, original.splices) == "# new\nsteps: 9\nlr: 3 # still\n"


def test_a_setting_that_was_changed_since_is_left_as_it_is(trained: Run) -> None:
    (Path(trained.path).parent / "c.yml").write_text("lr: 3\nsteps: 2\n")
    original = changed(trained)
    assert original is not None
    assert original.splices == ()


def test_an_original_without_the_setting_is_none(trained: Run) -> None:
    (Path(trained.path).parent / "c.yml").write_text("steps: 5\n")
    assert changed(trained) is None


def test_of_two_originals_neither_is_taken(trained: Run) -> None:
    other = Path(trained.path).parent / "configs"
    other.mkdir()
    (other / "c.yml").write_text(YAML)
    assert changed(trained) is None


def test_a_file_of_the_project_is_its_own_original(tmp_path: Path) -> None:
    run = project(tmp_path)
    assert changed(run) is None
