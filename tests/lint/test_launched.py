"""Shell scripts that start trainings: what lint says about the settings they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.findings import Severity
from stethoscope.lint import lint
from tests.lint.test_lint import found
from tests.lint.trainings import written

TRAIN = """\
import argparse

import torch
import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--max-steps", type=int, default=10000)
parser.add_argument("--warmup-steps", type=int, default=500)
args = parser.parse_args()
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / args.warmup_steps))
for step in range(args.max_steps):
    loss = model(torch.randn(4, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm_up.step()
"""
RUN = """\
#!/bin/sh
ACCUMULATE=16
torchrun --nproc_per_node 2 train.py \\
    --lr 3e-4 \\
    --accumulate "$ACCUMULATE" \\
    --warmup-steps 40000
"""
FOUND = ["run.sh:2 SET106", "run.sh:6 SET111"]


@pytest.mark.parametrize("name", ["run.sh", "scripts/run.sh", "slurm/job.sbatch"])
def test_what_a_launcher_asks_for_is_told_at_its_line(tmp_path: Path, name: str) -> None:
    written(tmp_path, {"train.py": TRAIN, name: RUN})
    report = lint([tmp_path], select=["settings"])
    assert found(report) == [line.replace("run.sh", Path(name).name) for line in FOUND]


def test_what_a_launcher_types_counts_over_the_file_it_names(tmp_path: Path) -> None:
    settings = "max_steps: 100\nwarmup_steps: 2000\n"
    train = TRAIN.replace("import yaml\n", "import yaml\n\ncfg = yaml.safe_load(open('a.yaml'))\n")
    written(tmp_path, {"train.py": train, "conf/long.yaml": settings})
    launcher = "python train.py --config conf/long.yaml --max-steps 100000\n"
    written(tmp_path, {"go.sh": launcher})
    assert "SET111" not in " ".join(found(lint([tmp_path], select=["settings"])))
    written(tmp_path, {"go.sh": launcher.replace("100000", "1000")})
    assert "long.yaml:2 SET111" in found(lint([tmp_path], select=["settings"]))


def test_a_comment_above_a_joined_line_speaks_for_all_of_it(tmp_path: Path) -> None:
    ignored = RUN.replace("torchrun", "# stethoscope: ignore[SET111] the run is cut short\ntorchrun")
    ignored = ignored.replace("ACCUMULATE=16", "ACCUMULATE=16  # stethoscope: ignore[SET106]")
    written(tmp_path, {"train.py": TRAIN, "run.sh": ignored})
    report = lint([tmp_path], select=["settings"])
    assert found(report) == []
    assert report.ignored == 2


def test_a_flag_that_a_launcher_sets_is_told_of_the_script_alone(tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": "", "train.py": TRAIN})
    written(tmp_path, {"run.sh": "python train.py --accumulate 8\n"})
    told = lint([tmp_path / "train.py"], select=["SET"]).findings
    assert [(one.where.line, one.severity) for one in told] == [(20, Severity.WARNING)]


def test_a_launcher_alone_is_held_against_what_it_starts(tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": "", "train.py": TRAIN, "run.sh": RUN})
    assert found(lint([tmp_path / "run.sh"], select=["settings"])) == FOUND


def test_each_script_has_its_own_launchers(tmp_path: Path) -> None:
    written(tmp_path, {"a/train.py": TRAIN, "b/train.py": TRAIN, "a/run.sh": RUN})
    report = lint([tmp_path], select=["settings"])
    assert [line for line in found(report) if line.startswith("run.sh")] == FOUND
    notes = [one for one in report.findings if one.severity is Severity.NOTE]
    assert {Path(one.where.file).parent.name for one in notes} == {"b"}


@pytest.mark.parametrize(
    "text", ["echo python train.py --accumulate 8\n", "python serve.py --accumulate 8\n", "ls \\\n", "'"]
)
def test_other_scripts_say_nothing(tmp_path: Path, text: str) -> None:
    written(tmp_path, {"train.py": TRAIN, "other.sh": text})
    assert all(line.startswith("train.py") for line in found(lint([tmp_path], select=["settings"])))


HYDRA = {
    "train.py": """\
import hydra
import torch


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.optim.lr)
    rise = lambda step: min(1.0, (step + 1) / cfg.optim.warmup_steps)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, rise)
    for step in range(cfg.max_steps):
        loss = model(torch.randn(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm_up.step()


main()
""",
    "conf/config.yaml": "defaults:\n  - optim: fast\n  - _self_\nmax_steps: 10000\n",
    "conf/optim/fast.yaml": "lr: 3e-4\nwarmup_steps: 100\n",
    "conf/optim/slow.yaml": "lr: 3e-5\nwarmup_steps: 20000\n",
}


def test_a_choice_that_nobody_composes_is_held_against_no_run(tmp_path: Path) -> None:
    assert found(lint([written(tmp_path, HYDRA)], select=["settings"])) == []


def test_what_a_launcher_overrides_is_composed(tmp_path: Path) -> None:
    written(tmp_path, {**HYDRA, "scripts/run.sh": "python train.py optim=slow\n"})
    assert found(lint([tmp_path], select=["settings"])) == ["slow.yaml:2 SET111"]
    written(tmp_path, {"scripts/run.sh": "python train.py optim=slow max_steps=200000\n"})
    assert found(lint([tmp_path], select=["settings"])) == []


def test_a_launcher_of_another_folder_is_not_held_against_a_script_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    written(tmp_path, {"first/train.py": TRAIN, "first/run.sh": RUN, "second/train.py": TRAIN})
    assert found(lint([tmp_path / "first"], select=["settings"])) == FOUND
    assert all(
        line.startswith("train.py") for line in found(lint([tmp_path / "second"], select=["settings"]))
    )
