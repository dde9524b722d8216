"""What the pages say, and that nothing outside the folder and no stranger's text gets a hold on them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from stethoscope.dashboard.houses import house_at, number_of
from stethoscope.dashboard.joined.finding import Memory, find
from stethoscope.errors import NothingToRead
from tests.dashboard.conftest import Asked, run_in

Serving = Callable[..., Asked]
ATTACK = "<img src=x onerror=\"document.title='owned'\">"
DIVERGED = "step,loss,loss_scale\n" + "".join(
    f"{step},{'nan' if step > 200 else 0.9},{65536 / 2 ** max(0, step - 200) if step < 360 else 0}\n"
    for step in range(0, 400, 2)
)


def examined(asked: Asked) -> list[dict[str, object]]:
    """The rows, once all are examined; the work is done in this process, so that is at once."""
    asked.dashboard.register._ask()
    found: list[dict[str, object]] = asked.client.get("/runs.json").json()["runs"]
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "runs"
    run_in(home, "healthy/a")
    run_in(home, "diverged/b", DIVERGED)
    return home


def test_who_needs_help_stands_first(folder: Path, serving: Serving) -> None:
    rows = examined(serving())
    assert [row["path"] for row in rows] == ["diverged/b", "healthy/a"]
    assert [row["verdict"] for row in rows] == ["sick", "healthy"]
    assert rows[0]["causes"]


def test_a_page_and_its_twin_show_the_same_rows(folder: Path, serving: Serving) -> None:
    asked = serving()
    rows = examined(asked)
    text = asked.client.get("/").text
    places = [text.index(f'href="/run/{row["id"]}"') for row in rows]
    assert places == sorted(places)
    assert "2 runs: 1 sick, 1 healthy" in text


def test_what_is_counted_is_what_fits(folder: Path, serving: Serving) -> None:
    asked = serving()
    examined(asked)
    assert "1 of 2 runs: 1 sick" in asked.client.get("/?q=diverged").text
    nothing = asked.client.get("/?q=nothing-of-the-kind").text
    assert "No run fits what is asked for." in nothing
    assert "Show all 2 runs" in nothing
    assert asked.client.get("/runs.json?q=diverged").json()["fitting"] == 1


def test_two_runs_that_are_compared_lead_on_to_each(folder: Path, serving: Serving) -> None:
    asked = serving()
    bad, good = (str(row["id"]) for row in examined(asked))
    text = asked.client.get(f"/compare?good={good}&bad={bad}").text
    for place in (f"/run/{good}", f"/run/{bad}", f"/compare?good={bad}&amp;bad={good}"):
        assert f'href="{place}"' in text


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("q=DIVERGED", ["diverged/b"]),
        ("q=healthy+a", ["healthy/a"]),
        ("q=nowhere", []),
        ("verdict=sick", ["diverged/b"]),
        ("verdict=nonsense", ["diverged/b", "healthy/a"]),
        ("order=name", ["diverged/b", "healthy/a"]),
        ("page=99999", ["diverged/b", "healthy/a"]),
        ("page=-1", ["diverged/b", "healthy/a"]),
        ("page=%C2%B2", ["diverged/b", "healthy/a"]),
        ("cause=nothing", []),
    ],
)
def test_runs_are_searched_and_filtered(query: str, paths: list[str], folder: Path, serving: Serving) -> None:
    asked = serving()
    examined(asked)
    answer = asked.client.get(f"/runs.json?{query}").json()
    assert [row["path"] for row in answer["runs"]] == paths
    page = asked.client.get(f"/?{query}")
    assert page.status_code == 200
    assert [path for path in paths if path not in page.text] == []


def test_only_runs_that_are_still_written_go_on(folder: Path, serving: Serving) -> None:
    os.utime(folder / "healthy" / "a" / "train.csv", (1e9, 1e9))
    asked = serving()
    examined(asked)
    going = asked.client.get("/runs.json?going=1").json()["runs"]
    assert "healthy/a" not in [row["path"] for row in going]


def test_a_run_has_the_report_and_its_twin(folder: Path, serving: Serving) -> None:
    asked = serving()
    page = asked.client.get(asked.run("diverged/b"))
    assert page.status_code == 200
    assert '<section id="causes"' in page.text
    assert 'data-chart="chart-1"' in page.text
    told = asked.client.get(asked.run("diverged/b") + ".json").json()
    assert told["schema"] == 1
    assert told["verdict"] == "sick"


def test_a_run_that_is_deleted_while_it_is_shown_says_so(folder: Path, serving: Serving) -> None:
    asked = serving()
    shutil.rmtree(folder / "diverged" / "b")
    answer = asked.client.get(asked.run("diverged/b"))
    assert answer.status_code == 404
    assert "is not there any more" in answer.text
    asked.look()
    answer = asked.client.get(asked.run("diverged/b"))
    assert answer.status_code == 404
    assert "no such run" in answer.text


def test_a_folder_that_vanishes_is_said_and_what_is_known_stays(folder: Path, serving: Serving) -> None:
    asked = serving()
    examined(asked)
    asked.dashboard.register.trouble("no such file or directory")
    text = asked.client.get("/").text
    assert "The folder cannot be looked at: no such file or directory." in text
    assert "diverged/b" in text


def test_a_run_that_cannot_be_read_is_a_row_that_says_so(tmp_path: Path, serving: Serving) -> None:
    home = run_in(tmp_path / "runs", "a")
    asked = serving()
    (home / "train.csv").unlink()
    (row,) = examined(asked)
    assert row["verdict"] == "unreadable"
    assert row["error"]
    assert asked.client.get("/").status_code == 200


def test_a_log_that_no_reader_knows_is_named(folder: Path) -> None:
    (folder / "torn").mkdir()
    (folder / "torn" / "events.out.tfevents.17.node").write_bytes(bytes(range(256)) * 20)
    found = find(folder, "runs", Memory())
    assert {run.inside for run in found.runs} == {"healthy/a", "diverged/b"}
    assert len(found.notes) == 1
    assert found.notes[0].startswith("torn/events.out.tfevents.17.node: a log by its name")


def test_a_run_that_comes_is_found_without_looking_at_all_the_others_again(folder: Path) -> None:
    memory = Memory()
    find(folder, "runs", memory)
    memory.again_at = float("inf")
    run_in(folder, "late/d")
    shutil.rmtree(folder / "diverged")
    found = find(folder, "runs", memory)
    assert sorted(run.inside for run in found.runs) == ["healthy/a", "late/d"]
    (folder / "late" / "d" / "train.csv").write_text(DIVERGED)
    again = find(folder, "runs", memory)
    assert [run.inside for run in again.runs] == ["healthy/a", "late/d"]
    assert again.runs[0] == found.runs[0]
    assert again.runs[1].stamp != found.runs[1].stamp


# --- strangers' texts


def test_names_that_are_markup_are_text(tmp_path: Path, serving: Serving) -> None:
    home = run_in(tmp_path / "runs", ATTACK)
    (home / "train.csv").unlink()
    lines = [{"step": step, "loss": 2 / (1 + step), ATTACK: 1.0} for step in range(100)]
    (home / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = serving()
    examined(asked)
    for path in ("/", "/review", asked.run(ATTACK), "/?q=" + quote(ATTACK), "/?cause=" + quote(ATTACK)):
        answer = asked.client.get(path)
        assert answer.status_code == 200, path
        assert "<img" not in answer.text, path
        assert "&lt;img" in answer.text, path
    assert asked.client.get(asked.run(ATTACK)).text.count("&lt;img") > 3


@pytest.mark.parametrize("name", ["a\nb", "‮txt.gpj", "a\x1b[31m", "x..%2f..%2fetc", "%00", "'\";--"])
def test_names_that_reorder_or_hide_are_shown_as_they_are(
    name: str, tmp_path: Path, serving: Serving
) -> None:
    run_in(tmp_path / "runs", name)
    asked = serving()
    examined(asked)
    text = asked.client.get("/").text
    assert "‮" not in text
    assert "\x1b" not in text
    assert asked.client.get(asked.run(name)).status_code == 200


def test_names_that_are_no_text_are_shown(tmp_path: Path, serving: Serving) -> None:
    run_in(tmp_path / "runs", os.fsdecode(b"caf\xe9"))
    asked = serving()
    examined(asked)
    assert asked.client.get("/").status_code == 200
    assert len(asked.client.get("/runs.json").json()["runs"]) == 1


# --- nothing outside the folder


@pytest.mark.parametrize(
    "path",
    [
        "/run/..%2f..%2fetc%2fpasswd",
        "/run/%2e%2e/%2e%2e/etc/passwd",
        "/run/../../etc/passwd",
        "/static/..%2f..%2fgate.py",
        "/static/%2e%2e/gate.py",
        "/static/../gate.py",
        "/static/gate.py",
        "/static/",
        "/static",
        "/run/",
        "/run/healthy/a",
        "/run/%00",
        "/run/healthy%2fa",
        "/..%c0%af..%c0%afetc/passwd",
        "/etc/passwd",
        "/healthy/a/train.csv",
        "/run//etc/passwd.json",
    ],
)
def test_no_path_leads_to_a_file(path: str, folder: Path, serving: Serving) -> None:
    answer = serving().client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "class Gate" not in answer.text


def test_a_link_that_leads_out_is_no_run(tmp_path: Path, serving: Serving) -> None:
    outside = run_in(tmp_path / "elsewhere", "secret")
    inside = run_in(tmp_path / "runs", "a")
    (tmp_path / "runs" / "link").symlink_to(outside)
    (inside / "other.csv").symlink_to(outside / "train.csv")
    asked = serving()
    assert [row["path"] for row in examined(asked)] == ["a"]
    told = asked.client.get(asked.run("a") + ".json").text
    assert "elsewhere" not in told
    assert "secret" not in told


def test_a_run_that_becomes_a_link_out_is_not_read(tmp_path: Path, serving: Serving) -> None:
    outside = run_in(tmp_path / "elsewhere", "secret", DIVERGED)
    inside = run_in(tmp_path / "runs", "a")
    asked = serving()
    shutil.rmtree(inside)
    inside.symlink_to(outside)
    for end in ("", ".json", ".plan", ".events"):
        answer = asked.client.get(asked.run("a") + end)
        assert answer.status_code == 404, end
        assert "leads out of" in answer.text
    assert asked.post(asked.run("a") + "/apply", {"digest": ""}).status_code == 404


def test_a_document_outside_is_not_read(tmp_path: Path, serving: Serving) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("lr = 0.1")
    run_in(tmp_path / "runs", "a")
    (tmp_path / "runs" / "notes.md").symlink_to(secret)
    asked = serving()
    assert asked.dashboard.register.documents == {}
    for name in ("../secret.md", str(secret), number_of("document", "../secret.md")):
        assert asked.post("/review.json", {"document": name}).status_code == 404


def test_numbers_say_nothing_and_stay() -> None:
    assert number_of("run", "a") == number_of("run", "a")
    assert number_of("run", "a") != number_of("document", "a")
    assert len(number_of("run", "x" * 10_000)) == 20


@pytest.mark.parametrize("inside", ["../elsewhere", "/etc", "a/../../elsewhere", "a\0b"])
def test_a_house_holds_only_what_is_below(inside: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").mkdir()
    with pytest.raises(NothingToRead):
        house_at(str(tmp_path / "runs")).path(inside)


# --- trials


def test_results_of_trials_are_found_and_shown(tmp_path: Path, serving: Serving) -> None:
    home = run_in(tmp_path / "runs", "a")
    effect = {"mean": 0.5, "low": 0.2, "high": float("nan")}
    change = {"name": ATTACK, "title": "", "classes": ["sufficient"], "why": "it was seen", "alone": effect}
    told = {
        "schema": 1,
        "kind": "trial",
        "name": "t",
        "seeds": [1, 2],
        "complete": False,
        "notes": [],
        "metric": {"name": "loss", "goal": "min"},
        "changes": [change],
        "arms": [{"name": "cured", "mean": 1.0, "sd": None, "runs": 2, "failed": 0}],
        "placebo": None,
    }
    (home / "trial.json").write_text(json.dumps(told))
    broken = run_in(tmp_path / "runs", "b")
    (broken / "trial.json").write_text('{"schema": 1, "kind": "trial", "changes": [')
    asked = serving()
    text = asked.client.get("/trials").text
    assert "sufficient" in text
    assert "the trial was cut short" in text
    assert "<img" not in text
    assert "is not the result of a trial" in text
    assert len(asked.client.get("/trials.json").json()) == 2
