"""Files of a run that are packed and laid out elsewhere give what they give at home, though home is gone."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from stethoscope.errors import StethoscopeError
from stethoscope.triage import parcels
from stethoscope.triage.examining import Outcome, Patient, examined
from stethoscope.triage.parcels import laid_out, packed_project, packed_run, project_of, stamp_of
from stethoscope.triage.ray_workers import _examined_there
from tests.compare.runs import losses, write
from tests.prescription.patients import LOG, SETTINGS, sick_project


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run that fell over the project's own settings, and one beside it that is well."""
    project = sick_project(tmp_path / "project")
    (project / "train.log").unlink()
    (project / "train.py").write_text("import yaml\nopt = yaml.safe_load(open('settings.yml'))\n")
    sick = project / "work" / "a"
    sick.mkdir(parents=True)
    steps = "".join(f"step {n}: loss {1 / (1 + n)}\n" for n in range(9))
    (sick / "train.log").write_text(f"train.py --config settings.yml\n{steps}{LOG}")
    (sick / "model_8.pth").write_bytes(b"w" * 5000)
    write(project / "work" / "b", losses(1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def elsewhere(patient: Patient, home: Path) -> Outcome:
    """The outcome on a node that has nothing but what it was sent."""
    project = project_of(patient)
    sent = packed_run(patient), packed_project(project) if project else ()
    shutil.move(home / "project", home / "hidden")
    try:
        outcome = _examined_there(patient, 60, str(home), None, *sent)
    finally:
        shutil.move(home / "hidden", home / "project")
    assert outcome is not None
    return outcome


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("whole", [True, False], ids=["absolute", "relative"])
def test_a_run_is_the_same_where_its_disk_is_not_seen(name: str, whole: bool, home: Path) -> None:
    path = os.path.join(home, "project", "work", name) if whole else os.path.join("project", "work", name)
    patient = Patient(path)
    here, there = examined(patient, 60), elsewhere(patient, home)
    assert replace(there.summary, seconds=0.0) == replace(here.summary, seconds=0.0)
    assert there.others == here.others
    assert os.getcwd() == str(home)
    if name == "a":
        assert "settings.yml" in here.summary.next, "the edit in the project around is what is compared"


def test_single_files_of_a_run_are_the_same_there(home: Path) -> None:
    log = os.path.join("project", "work", "b", "train.csv")
    patient = Patient(os.path.dirname(log), (log,))
    here, there = examined(patient, 60), elsewhere(patient, home)
    assert replace(there.summary, seconds=0.0) == replace(here.summary, seconds=0.0)


def test_weights_are_not_sent_and_are_there_all_the_same(home: Path) -> None:
    patient = Patient("project/work/a")
    run = packed_run(patient)
    assert {os.path.basename(file.path) for file in run if file.content is None} == {"model_8.pth"}
    with laid_out([run, packed_project(str(home / "project"))], str(home)) as root:
        assert root not in str(home)
        assert os.path.getsize("project/work/a/model_8.pth") == 5000
        assert Path("project/settings.yml").read_text() == SETTINGS
        there = os.stat("project/work/a/train.log").st_mtime
    assert there == os.stat("project/work/a/train.log").st_mtime
    assert not os.path.exists(root)


def test_what_is_too_much_to_send_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "MOST_BYTES", 1 << 10)
    with pytest.raises(StethoscopeError, match="disk that all share"):
        packed_run(Patient("project/work/b"))


def test_a_disk_is_known_by_its_files(home: Path) -> None:
    patient = Patient("project/work/b")
    before = stamp_of(patient)
    log = Path("project/work/b/train.csv")
    with log.open("a") as stream:
        stream.write("2000,0.3,0.001\n")
    grown = _examined_there(patient, 60, str(home), before)
    assert grown is not None, "a run that goes on is the same run"
    assert grown.summary.last_step == 2000
    os.utime(log, (1e9, 1e9))
    assert _examined_there(patient, 60, str(home), before) is None, "an older copy is another disk"
    log.unlink()
    assert _examined_there(patient, 60, str(home), before) is None
    assert _examined_there(patient, 60, str(home / "nowhere"), before) is None
