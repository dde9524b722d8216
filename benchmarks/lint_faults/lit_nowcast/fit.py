"""Nowcasting of rain one frame ahead.

    python fit.py --settings settings.json
    python fit.py --settings settings.json --resume checkpoints/last.ckpt
"""
import argparse
import json
from pathlib import Path

import lightning as L
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from nowcast.data import RadarModule
from nowcast.module import Nowcaster

DEFAULTS = {
    "width": 32,
    "frames_in": 4,
    "crop": 48,
    "batch_size": 16,
    "lr": 3e-4,
    "weight_decay": 0.0,
    "spectral_weight": 0.1,
    "max_epochs": 50,
    "accumulate": 1,
    "precision": "32-true",
    "train_size": 2000,
}


def get_settings(path):
    given = json.loads(Path(path).read_text())
    unknown = set(given) - set(DEFAULTS)
    if unknown:
        raise SystemExit(f"unknown settings: {sorted(unknown)}")
    return {**DEFAULTS, **given}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", default="settings.json")
    parser.add_argument("--precision", default=None, help="instead of the one in the settings, e.g. on a CPU")
    parser.add_argument("--resume", default=None)
    args = parser.parse_args()
    s = get_settings(args.settings)

    L.seed_everything(42)
    data = RadarModule(s["frames_in"], s["crop"], s["batch_size"], s["train_size"])
    model = Nowcaster(s["frames_in"], s["width"], s["lr"], s["weight_decay"], s["spectral_weight"])
    keep = ModelCheckpoint(dirpath="checkpoints", monitor="val/mae", mode="min", save_last=True)
    trainer = L.Trainer(
        max_epochs=s["max_epochs"],
        precision=args.precision or s["precision"],
        accumulate_grad_batches=s["accumulate"],
        gradient_clip_val=1.0,
        callbacks=[keep, LearningRateMonitor("step")],
        logger=CSVLogger("logs"),
        log_every_n_steps=2,
    )
    trainer.fit(model, datamodule=data, ckpt_path=args.resume)
    print("best:", keep.best_model_path)


if __name__ == "__main__":
    main()
