"""accelerate launch train.py --epochs 100 --mixed_precision bf16 [--resume]"""
import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch.utils.data import DataLoader

from config import from_cli
from corpus import Utterances, collate
from model import Acoustic, duration_loss, masked_l1


class Progress:
    """What has to survive a restart beside the weights; saved by Accelerate."""

    def __init__(self):
        self.epoch, self.best, self.bad = 0, math.inf, 0

    def state_dict(self):
        return vars(self).copy()

    def load_state_dict(self, state):
        vars(self).update(state)


def make_schedule(optimizer, warmup, total):
    def factor(step):
        return (step + 1) / warmup if step < warmup else max(0.05, 1 - (step - warmup) / max(1, total - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def mel_error(model, loader, accelerator):
    """Masked L1 over the whole validation set, in decibel-like units of the corpus."""
    model.eval()
    std = loader.dataset.stats[1].to(accelerator.device)
    total = torch.zeros(2, device=accelerator.device)
    for batch in loader:
        pred, _ = model(batch["phones"], batch["durs"], batch["mels"].shape[1])
        mask = torch.arange(pred.shape[1], device=pred.device) < batch["n_frames"][:, None]
        err = ((pred.float() - batch["mels"]).abs() * std).mean(-1)
        total += torch.stack([(err * mask).sum(), mask.sum().float()])
    total = accelerator.reduce(total, reduction="sum")
    model.train()
    return (total[0] / total[1]).item()


def main():
    cfg = from_cli()
    accelerator = Accelerator(
        gradient_accumulation_steps=cfg.grad_accum,
        mixed_precision=cfg.mixed_precision,
        step_scheduler_with_optimizer=False,
        project_config=ProjectConfiguration(cfg.workdir, automatic_checkpoint_naming=False),
    )
    set_seed(0)
    train_set = Utterances(cfg.n_train, cfg.symbols, cfg.n_mels, seed=1)
    valid_set = Utterances(cfg.n_valid, cfg.symbols, cfg.n_mels, seed=2, stats=train_set.stats)
    train_loader = DataLoader(train_set, cfg.batch_size, shuffle=True, collate_fn=collate, drop_last=True)
    valid_loader = DataLoader(valid_set, cfg.batch_size, collate_fn=collate)
    model = Acoustic(cfg.symbols, cfg.n_mels, cfg.dim, cfg.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    model, optimizer, train_loader, valid_loader = accelerator.prepare(model, optimizer, train_loader, valid_loader)
    updates = math.ceil(len(train_loader) / cfg.grad_accum) * cfg.epochs
    scheduler = make_schedule(optimizer.optimizer, cfg.warmup, updates)
    progress = Progress()
    accelerator.register_for_checkpointing(scheduler, progress)
    last = os.path.join(cfg.workdir, "last")
    if cfg.resume:
        accelerator.load_state(last)

    model.train()
    while progress.epoch < cfg.epochs and progress.bad < cfg.patience:
        summed = torch.zeros((), device=accelerator.device)
        for batch in train_loader:
            with accelerator.accumulate(model):
                pred, log_dur = model(batch["phones"], batch["durs"], batch["mels"].shape[1])
                loss = masked_l1(pred, batch["mels"], batch["n_frames"])
                loss = loss + cfg.dur_weight * duration_loss(log_dur, batch["durs"])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
                optimizer.step()
                if accelerator.sync_gradients and not accelerator.optimizer_step_was_skipped:
                    scheduler.step()
                optimizer.zero_grad()
            summed += loss.detach()
        error = mel_error(model, valid_loader, accelerator)
        accelerator.print(f"epoch {progress.epoch}: train {summed.item() / len(train_loader):.4f}, validation {error:.4f}")
        progress.epoch += 1
        progress.bad = 0 if error < progress.best else progress.bad + 1
        improved, progress.best = error < progress.best, min(error, progress.best)
        accelerator.save_state(last)
        if improved and accelerator.is_main_process:
            torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(cfg.workdir, "best.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    main()
