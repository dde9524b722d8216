"""FaultBench: every fault can be planted, a run leaves what a person would have, the truth lies elsewhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from stethoscope.clinic.faultbench.label import read_label
from stethoscope.clinic.faultbench.making import LABELS, make
from stethoscope.clinic.faultbench.operator import operators
from stethoscope.clinic.faultbench.specimen import Planted, Specimen, fits, prepared
from stethoscope.clinic.faultbench.task import Form, Replace, Task, form_of, tasks
from stethoscope.read import read

pytest.importorskip("torch")

every_task = pytest.mark.parametrize("task", tasks().values(), ids=lambda task: task.name)
every_form = pytest.mark.parametrize(
    ("task", "form"),
    [
        pytest.param(task, form, id=f"{task.name}-{form.operator}-{form.name}")
        for task in tasks().values()
        for form in task.forms
    ],
)


@every_form
def test_a_form_can_be_planted_at_every_level(task: Task, form: Form, tmp_path: Path) -> None:
    for level in range(len(form.levels)):
        assert fits(Specimen(task, (Planted(form, level),), 3))
    ready = prepared(Specimen(task, (Planted(form, len(form.levels) - 1),), 3), tmp_path)
    in_files = any(isinstance(change, Replace) for change in form.levels[-1])
    assert not in_files or ready.places
    assert {name for name, _ in ready.places} <= set(task.sources)


@every_task
def test_nothing_is_changed_where_nothing_is_planted(task: Task, tmp_path: Path) -> None:
    assert prepared(Specimen(task, (), 3), tmp_path).places == ()


@every_form
def test_a_form_is_of_an_operator_and_has_one_to_three_levels(task: Task, form: Form) -> None:
    assert form.operator in operators()
    assert 1 <= len(form.levels) <= 3
    assert 0.0 <= form.onset < 1.0


@every_task
def test_no_two_forms_are_called_alike(task: Task) -> None:
    names = Counter((form.operator, form.name) for form in task.forms)
    assert [name for name, count in names.items() if count > 1] == []


def test_what_is_written_in_one_way_only_is_not_held_out_everywhere() -> None:
    seen = defaultdict(set)
    for task in tasks().values():
        for form in task.forms:
            seen[form.operator].add(form.held_out)
    assert {name for name, held in seen.items() if held == {True}} == set()


def test_seeds_draw_the_same_nuisances_whatever_is_planted(tmp_path: Path) -> None:
    task = tasks()["gratings"]
    form = form_of(task, "labels-wrong")
    drawn = [
        prepared(Specimen(task, planted, 5), tmp_path / name).nuisances
        for name, planted in (("healthy", ()), ("sick", (Planted(form),)))
    ]
    assert drawn[0] == drawn[1]
    assert prepared(Specimen(task, (), 6), tmp_path / "other").nuisances != drawn[0]


def test_a_run_that_was_killed_and_resumed_leaves_what_a_person_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks()["gratings"]
    specimen = Specimen(task, (Planted(form_of(task, "optimizer-state-lost")),), 1)
    monkeypatch.chdir(tmp_path)
    label = make(specimen, Path("."))
    assert label.ended == "finished"
    assert label.score is not None
    assert label.score > 0.5
    assert len(label.checkpoints) == 4
    assert [fault.cause for fault in label.planted] == ["optimizer-state-lost"]
    assert {name for name, _ in label.places} == {"train.py"}
    run = read(tmp_path / specimen.name / task.run)
    assert run.series
    assert run.recipe
    assert len(run.checkpoints) >= 4
    assert read_label(tmp_path / LABELS / f"{specimen.name}.json") == label
    told = [path for path in (tmp_path / specimen.name).rglob("*") if "optimizer-state" in path.name]
    assert told == []
