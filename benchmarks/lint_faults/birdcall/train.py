#!/usr/bin/env python
import argparse
import json

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import Choruses
from module import BirdTagger
from stopping import StopOnPlateau


def cli():
    p = argparse.ArgumentParser()
    p.add_argument("--hparams", default="hparams.json")
    p.add_argument("--devices", type=int, default=1)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--out", default="bird_runs")
    p.add_argument("--ckpt", default=None, help="resume from this checkpoint")
    return p.parse_args()


def main():
    args = cli()
    with open(args.hparams) as f:
        hp = json.load(f)
    L.seed_everything(args.seed, workers=True)
    gpu = torch.cuda.is_available()
    best = ModelCheckpoint(monitor="val_f1", mode="max", save_last=True, filename="{epoch}-{val_f1:.3f}")
    trainer = L.Trainer(
        max_epochs=hp["epochs"],
        accelerator="gpu" if gpu else "cpu",
        devices=args.devices,
        strategy="ddp" if args.devices > 1 else "auto",
        precision="16-mixed" if gpu else "32-true",
        accumulate_grad_batches=hp["accumulate"],
        gradient_clip_val=hp["clip_norm"],
        callbacks=[best, LearningRateMonitor("step"), StopOnPlateau(hp["patience"])],
        logger=CSVLogger(args.out),
        log_every_n_steps=5,
    )
    trainer.fit(BirdTagger(hp), datamodule=Choruses(hp, args.workers), ckpt_path=args.ckpt)
    print("best:", best.best_model_path, float(best.best_model_score or 0.0))


if __name__ == "__main__":
    main()
