"""Small runs in the styles of several frameworks, to hold notes against."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from stethoscope.diagnose import Diagnosis, diagnose

LOOP = """
import argparse

import torch
import yaml


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yml")
    cfg = yaml.safe_load(open(parser.parse_args().config))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
    for step in range(cfg["max_steps"]):
        for group in optimizer.param_groups:
            group["lr"] = cfg["lr"] * min(1.0, (step + 1) / max(1, cfg["warmup_steps"]))
        optimizer.zero_grad()
        loss = model(torch.randn(cfg["batch_size"], 4)).square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
"""

SETTINGS = """\
lr: 0.003
weight_decay: 0.01
batch_size: 32
max_steps: 1000
warmup_steps: 0
max_grad_norm: 1.0
"""


def falling(step: int) -> float:
    """A loss that falls and levels off, with a little noise."""
    return 0.9 + 1.6 * math.exp(-step / 150) + 0.01 * math.sin(step * 12.9898)


def diverging(step: int) -> float:
    """A loss that falls until step 400 and then runs away."""
    return falling(step) if step < 400 else falling(400) * math.exp((step - 400) / 80) + 0.01 * math.sin(step)


def plain(folder: Path, loss: Callable[[int], float] = falling) -> Path:
    """A script of its own with a YAML file, logged as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(LOOP, encoding="utf-8")
    (folder / "config.yml").write_text(SETTINGS, encoding="utf-8")
    rows = [f"{step},{loss(step):.6f},{loss(step) + 0.05:.6f}" for step in range(0, 1000, 10)]
    return _logged(folder, "train.csv", "step,loss,val_loss\n" + "\n".join(rows) + "\n")


def huggingface(folder: Path) -> Path:
    """A healthy fine-tuning with the Trainer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "finetune.py").write_text(
        "from transformers import Trainer, TrainingArguments\n\n"
        "args = TrainingArguments(\n"
        "    output_dir='out',\n    learning_rate=3e-4,\n    per_device_train_batch_size=8,\n"
        "    warmup_steps=50,\n    max_grad_norm=1.0,\n    weight_decay=0.0,\n"
        "    num_train_epochs=3,\n    fp16=True,\n)\n"
        "trainer = Trainer(model=make(), args=args, train_dataset=data())\ntrainer.train()\n",
        encoding="utf-8",
    )
    history = [
        {"step": step, "epoch": step / 300, "loss": falling(step), "learning_rate": 3e-4 * (1 - step / 1000)}
        for step in range(10, 900, 10)
    ]
    state = {"global_step": 890, "max_steps": 900, "log_history": history}
    return _logged(folder, "trainer_state.json", json.dumps(state))


def lightning(folder: Path) -> Path:
    """A healthy run of LightningCLI."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(
        "seed_everything: 1\ntrainer:\n  max_epochs: 20\n  precision: 16-mixed\n"
        "  accumulate_grad_batches: 1\n"
        "  devices: 1\noptimizer:\n  class_path: torch.optim.AdamW\n  init_args:\n    lr: 0.001\n"
        "    weight_decay: 0.01\n",
        encoding="utf-8",
    )
    rows = [f"{step},{step // 50},{falling(step):.6f}" for step in range(0, 1000, 10)]
    return _logged(folder, "metrics.csv", "step,epoch,train_loss\n" + "\n".join(rows) + "\n")


def timm(folder: Path) -> Path:
    """A healthy classification with timm's script."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "args.yaml").write_text(
        "lr: 0.001\nweight_decay: 0.05\ndrop_path: 0.1\nwarmup_epochs: 5\nepochs: 100\n"
        "mixup: 0.8\nbatch_size: 128\n"
        "sched: cosine\nopt: adamw\n",
        encoding="utf-8",
    )
    rows = [
        f"{epoch},{falling(10 * epoch):.6f},{falling(10 * epoch) + 0.1:.6f},"
        f"{80 - 60 * math.exp(-epoch / 20):.4f}"
        for epoch in range(100)
    ]
    return _logged(folder, "summary.csv", "epoch,train_loss,eval_loss,eval_top1\n" + "\n".join(rows) + "\n")


def mmengine(folder: Path) -> Path:
    """A healthy detector in MMEngine's style."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.py").write_text(
        "optim_wrapper = dict(\n    type='OptimWrapper',\n"
        "    optimizer=dict(type='SGD', lr=0.02, momentum=0.9, weight_decay=0.0001),\n)\n"
        "train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=12, val_interval=1)\n"
        "train_dataloader = dict(batch_size=2, num_workers=2)\n",
        encoding="utf-8",
    )
    lines = [
        json.dumps({"lr": 0.02, "loss": falling(step), "iter": step, "step": step, "epoch": 1 + step // 100})
        for step in range(50, 1200, 50)
    ]
    return _logged(folder, "scalars.json", "\n".join(lines) + "\n")


def axolotl(folder: Path) -> Path:
    """A healthy fine-tuning with a flat YAML file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yml").write_text(
        "base_model: some/model\nlearning_rate: 0.0002\nwarmup_steps: 10\nsample_packing: false\n"
        "gradient_accumulation_steps: 4\nmicro_batch_size: 2\nlora_r: 16\nnum_epochs: 3\n",
        encoding="utf-8",
    )
    rows = [json.dumps({"step": step, "loss": falling(step), "lr": 2e-4}) for step in range(0, 900, 10)]
    return _logged(folder, "metrics.jsonl", "\n".join(rows) + "\n")


def toml(folder: Path) -> Path:
    """A script of its own that reads TOML, and never uses one of its settings."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        "[optim]\nlr = 3e-3\nbetas = [0.9, 0.999]\nwarmup = 100\n\n"
        "[train]\nbatch_size = 32\nmax_steps = 1000\n",
        encoding="utf-8",
    )
    (folder / "train.py").write_text(
        "import tomllib\n\nimport torch\n\ncfg = tomllib.load(open('config.toml', 'rb'))\n"
        "model = torch.nn.Linear(4, 1)\n"
        "optim = cfg['optim']\n"
        "optimizer = torch.optim.AdamW(model.parameters(), lr=optim['lr'], betas=optim['betas'])\n"
        "for step in range(cfg['train']['max_steps']):\n    optimizer.zero_grad()\n"
        "    loss = model(torch.randn(cfg['train']['batch_size'], 4)).square().mean()\n"
        "    loss.backward()\n    optimizer.step()\n    print(f'step {step} loss {loss.item():.4f}')\n",
        encoding="utf-8",
    )
    rows = [f"{step},{falling(step):.6f}" for step in range(0, 1000, 10)]
    return _logged(folder, "train.csv", "step,loss\n" + "\n".join(rows) + "\n")


def diagnosed(folder: Path) -> Diagnosis:
    """The run as the review takes it."""
    return diagnose(folder)


def _logged(folder: Path, name: str, text: str) -> Path:
    """The folder with its log, so old that the run is surely over."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    then = time.time() - 86400
    os.utime(file, (then, then))
    return folder
