"""What is prescribed is shown, written after a click as it was shown, and put back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dashboard.conftest import Asked
from tests.prescription.patients import LOG, MENDED, SETTINGS, contents, sick_project

Serving = Callable[..., Asked]


def listed_project(folder: Path, logs: str = ".") -> Path:
    """A project with a run that has logged enough to be found."""
    project = sick_project(folder)
    (project / logs).mkdir(exist_ok=True)
    steps = "".join(f"step {step}: loss {2.0 / (1 + step / 20):.4f}\n" for step in range(0, 100, 10))
    (project / "train.log").unlink()
    (project / logs / "train.log").write_text(steps + LOG)
    return project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return listed_project(tmp_path / "runs" / "nano")


def settings_of(project: Path) -> str:
    return (project / "settings.yml").read_text()


def test_what_would_be_written_is_shown_and_nothing_is_changed(project: Path, serving: Serving) -> None:
    before = contents(project)
    told = serving().client.get(f"{serving().run('nano')}.plan").json()
    assert told["writable"] is True
    assert len(told["files"]) == 1
    assert "<mark>2.0e</mark>" in told["markup"]
    assert "stethoscope prescribe" in told["markup"]
    assert "--write --level unsafe" in told["markup"]
    assert told["undo"] == []
    assert contents(project) == before


def test_a_click_writes_it_and_another_puts_it_back(project: Path, serving: Serving) -> None:
    asked = serving()
    digest = asked.client.get(f"{asked.run('nano')}.plan").json()["digest"]
    done = asked.post(f"{asked.run('nano')}/apply", {"digest": digest})
    assert done.status_code == 200
    assert done.json()["files"] == ["settings.yml"]
    assert settings_of(project) == MENDED
    plan = asked.client.get(f"{asked.run('nano')}.plan").json()
    assert plan["undo"] == ["settings.yml"]
    assert plan["writable"] is False
    back = asked.post(f"{asked.run('nano')}/undo", {})
    assert back.json()["files"] == ["settings.yml"]
    assert settings_of(project) == SETTINGS
    again = asked.post(f"{asked.run('nano')}/undo", {})
    assert again.status_code == 409
    assert "left to undo" in again.json()["error"]


def test_what_was_not_shown_is_not_written(project: Path, serving: Serving) -> None:
    asked = serving()
    digest = asked.client.get(f"{asked.run('nano')}.plan").json()["digest"]
    changed = SETTINGS.replace("# the peak", "# the very peak")
    (project / "settings.yml").write_text(changed)
    for given in (digest, "", "0" * 64):
        done = asked.post(f"{asked.run('nano')}/apply", {"digest": given})
        assert done.status_code == 409
        assert "look again" in done.json()["error"]
    assert settings_of(project) == changed


def test_a_dashboard_that_only_reads_writes_nothing(project: Path, serving: Serving) -> None:
    asked = serving(read_only=True)
    told = asked.client.get(f"{asked.run('nano')}.plan").json()
    assert told["writable"] is False
    for path in ("apply", "undo"):
        done = asked.post(f"{asked.run('nano')}/{path}", {"digest": told["digest"]})
        assert done.status_code == 409
        assert "read-only" in done.json()["error"]
    assert settings_of(project) == SETTINGS
    page = asked.client.get(asked.run("nano")).text
    assert "show-plan" not in page
    assert "read-only" in page


def test_a_file_outside_the_folder_is_not_written(tmp_path: Path, serving: Serving) -> None:
    """The settings of a project are read from above the folder of its runs, and only shown."""
    project = listed_project(tmp_path / "nano", "runs")
    asked = serving(project / "runs")
    (run,) = asked.dashboard.register.rows()
    told = asked.client.get(f"/run/{run.number}.plan").json()
    assert told["writable"] is False
    assert asked.post(f"/run/{run.number}/apply", {"digest": told["digest"]}).status_code == 409
    assert settings_of(project) == SETTINGS


def test_work_that_is_not_committed_is_left_alone(project: Path, serving: Serving) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all")):
        subprocess.run(["git", "-C", str(project), *who, *arguments], check=True, capture_output=True)
    (project / "settings.yml").write_text(SETTINGS + "# mine\n")
    asked = serving()
    told = asked.client.get(f"{asked.run('nano')}.plan").json()
    assert told["writable"] is False
    assert "not committed" in told["markup"]
    done = asked.post(f"{asked.run('nano')}/apply", {"digest": told["digest"]})
    assert "not committed" in done.json()["error"]
    assert settings_of(project) == SETTINGS + "# mine\n"
