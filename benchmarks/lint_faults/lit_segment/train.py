import argparse

import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint

from data import BlobData
from module import SegmentationModule


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--dice_weight", type=float, default=0.5)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--ckpt_path", default=None)
    args = parser.parse_args()

    L.seed_everything(7, workers=True)
    checkpoint = ModelCheckpoint(dirpath="checkpoints", monitor="val/dice", mode="max", save_last=True)
    trainer = L.Trainer(
        max_epochs=args.max_epochs,
        gradient_clip_val=args.clip,
        accumulate_grad_batches=args.accumulate,
        callbacks=[checkpoint],
        logger=False,
        log_every_n_steps=2,
        enable_progress_bar=False,
    )
    module = SegmentationModule(lr=args.lr, dice_weight=args.dice_weight, max_epochs=args.max_epochs)
    trainer.fit(module, BlobData(batch_size=args.batch_size), ckpt_path=args.ckpt_path)


if __name__ == "__main__":
    main()
