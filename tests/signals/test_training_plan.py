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
HOOK = """
import torch
import lightning as L


class Net(L.LightningModule):
    def configure_optimizers(self):
        return torch.optim.NAdam(self.parameters())
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


FLAGS = """
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--grad-clip", type=float, default=1.0)
parser.add_argument("--accumulate", type=int, default=1)
args = parser.parse_args()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1000):
    optimizer.zero_grad()
    model(torch.randn(4, 4)).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    optimizer.step()
"""


def test_a_flag_that_reaches_the_optimizer_is_in_effect(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, train_py=FLAGS, run_sh="python train.py --lr 3e-4 --accumulate 16\n")
    in_effect = {name: plan[name].in_effect[0].amount.value for name in ("learning rate", "gradient clip")}
    assert in_effect == {"learning rate": 3e-4, "gradient clip": 1.0}
    unmet = plan.unmet_accumulation
    assert unmet is not None
    assert unmet.amount.value == 16


def test_constants_that_a_file_is_read_over_are_not_in_effect(tmp_path: Path) -> None:
    script = """
import torch

learning_rate = 6e-4
gradient_accumulation_steps = 40
max_iters = 600000
exec(open("configurator.py").read())
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
for step in range(max_iters):
    for micro_step in range(gradient_accumulation_steps):
        (model(torch.randn(4, 4)).square().mean() / gradient_accumulation_steps).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    settings = "learning_rate = 3e-5\ngradient_accumulation_steps = 32\nmax_iters = 1000\n"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tune.py").write_text(settings)
    plan = plan_of(tmp_path, train_py=script)
    assert [entry.quantity for entry in plan if entry.differs] == []
    assert plan.window == 32


def test_a_rate_that_the_loop_writes_is_a_schedule(tmp_path: Path) -> None:
    constant = FLAGS.replace("lr=args.lr)", "lr=args.lr)\noptimizer.param_groups[0]['lr'] = 0.1")
    told = plan_of(tmp_path, train_py=constant)["schedule"].in_effect
    assert [one.amount.value for one in told] == ["none"]
    written = "    for group in optimizer.param_groups:\n        group['lr'] = args.lr / (step + 1)\n"
    by_hand = FLAGS.replace("    optimizer.zero_grad()", f"{written}    optimizer.zero_grad()")
    told = plan_of(tmp_path, train_py=by_hand)["schedule"].in_effect
    assert [one.amount.value for one in told] == ["set by hand"]


def test_a_stated_total_leaves_the_number_of_processes_open(tmp_path: Path) -> None:
    stated = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}}'
    plan = plan_of(tmp_path, ds_config_json=stated)
    assert [one.amount.value for one in plan["effective batch"].asked] == [64]
    assert plan["effective batch"].in_effect == ()


def test_an_optimizer_is_adaptive_where_all_that_is_known_of_it_says_so(tmp_path: Path) -> None:
    either = HOOK.replace(
        "return", "if self.quick:\n            return torch.optim.SGD(self.parameters())\n        return"
    )
    kinds = {"adam": LOOP, "sgd": LOOP.replace("AdamW", "SGD"), "hook": HOOK, "either": either}
    told = {}
    for name, source in kinds.items():
        (tmp_path / name).mkdir()
        told[name] = plan_of(tmp_path / name, config_yml=SETTINGS, train_py=source).is_adaptive
    assert told == {"adam": True, "sgd": False, "hook": True, "either": None}


OWN = """
import copy
import torch
import yaml


def rate(n, o):
    if n < o["rise"]:
        return o["top"] * (n + 1) / o["rise"]
    return o["top"] * (1 - (n - o["rise"]) / (o["rounds"] - o["rise"]))


def draw(data, rows):
    return data[torch.randint(0, len(data), (rows,))]


def blend(slow, fast, kept):
    for a, b in zip(slow.parameters(), fast.parameters()):
        a.data.lerp_(b.data, 1 - kept)


o = yaml.safe_load(open("config.yml"))
torch.manual_seed(o["begin"])
data = torch.randn(80, 4)
model = torch.nn.Linear(4, 1)
slow = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=o["top"])
for n in range(o["rounds"]):
    for group in optimizer.param_groups:
        group["lr"] = rate(n, o)
    optimizer.zero_grad()
    model(draw(data, o["rows"])).square().mean().backward()
    optimizer.step()
    blend(slow, model, o["kept"])
"""


def test_the_programs_own_loops_and_calls_tell_what_they_are_given(tmp_path: Path) -> None:
    settings = "begin: 5\nrounds: 900\nrise: 60\ntop: 0.002\nrows: 12\nkept: 0.98\n"
    plan = plan_of(tmp_path, train_py=OWN, config_yml=settings)
    taken = {one.quantity: {each.amount.value for each in one.in_effect} for one in plan if one.in_effect}
    assert taken["length of the run"] == {900}
    assert taken["batch per device"] == {12}
    assert taken["warm-up"] == {60}
    assert taken["EMA decay"] == {0.98}
    assert taken["seed"] == {5}
    asked = plan["length of the run"].only("step")
    assert asked is not None
    assert asked.setting.dotted == "rounds"
