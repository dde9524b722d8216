"""What was asked for beside what takes place."""

from __future__ import annotations

from pathlib import Path

from stethoscope.read import read
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import TrainingPlan, measure

LOOP = """
import torch
import yaml

cfg = yaml.safe_load(open("config.yml"))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=cfg["weight_decay"])
loader = torch.utils.data.DataLoader(torch.randn(80, 4), batch_size=cfg["batch_size"], shuffle=True)
for batch in loader:
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
"""
SETTINGS = """
batch_size: 4
gradient_accumulation_steps: 16
lr: 0.001
weight_decay: 0.1
max_grad_norm: 1.0
"""


def plan_of(folder: Path, **files: str) -> TrainingPlan:
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text)
    plan = measure(read(folder))
    assert not isinstance(plan, Missing)
    return plan


def test_the_source_says_what_is_in_effect(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, config_yml=SETTINGS, train_py=LOOP)
    told = {
        entry.quantity: (pair[0].amount.value, pair[1].amount.value)
        for entry in plan
        if (pair := entry.differs) is not None
    }
    assert told == {"learning rate": (0.001, 3e-4), "accumulation": (16, 1), "gradient clip": (1.0, 0.5)}


def test_the_effective_batch_is_derived_and_says_from_what(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, config_yml=SETTINGS, train_py=LOOP)
    batch = plan["effective batch"].in_effect[0]
    assert batch.amount.value == 4
    assert batch.said == "batch 4 x accumulation 1 (as the loop has it) x processes 1 (none are named)"


def test_the_log_says_what_is_in_effect(tmp_path: Path) -> None:
    rows = "".join(f"{step},0.5,{0.001 if step else 0}\n" for step in range(0, 100, 10))
    plan = plan_of(tmp_path, config_yml="lr: 0.001\nmax_steps: 100\n", train_csv="step,loss,lr\n" + rows)
    assert [one.amount.value for one in plan["learning rate"].in_effect] == [0.001]
    assert plan["length of the run"].in_effect[0].amount.value == 90
    assert plan.extent.steps == 100


def test_settings_that_disagree_ask_for_nothing_certain(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, config_yml="a: {lr: 0.1}\nb: {lr: 0.2}\n")
    assert plan["learning rate"].only() is None
    assert len(plan["learning rate"].asked) == 2


def test_a_run_that_went_on_longer_has_another_plan(tmp_path: Path) -> None:
    rows = "".join(f"{step},0.5\n" for step in range(0, 1000, 10))
    plan = plan_of(tmp_path, config_yml="max_steps: 100\n", train_csv="step,loss\n" + rows)
    assert plan.extent.steps is None
