"""Class-conditional diffusion of little glyphs.

    accelerate launch train_glyphs.py --config glyphs.toml
"""
import argparse
import math
import tomllib
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

from nets import Denoiser, Ema
from process import CosineProcess


class Glyphs(Dataset):
    """Bars, frames, crosses and dots in [-1, 1]."""

    def __init__(self, first, count, size, classes):
        self.first, self.count, self.size, self.classes = first, count, size, classes

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.first + i)
        label = int(torch.randint(self.classes, (), generator=g))
        a, b = torch.randint(2, self.size // 2 - 1, (2,), generator=g).tolist()
        img = -torch.ones(1, self.size, self.size)
        box = img[:, a : a + self.size // 2, b : b + self.size // 2]
        if label == 0:
            box[:, :, 2:4] = 1
        elif label == 1:
            box[:] = 1
            box[:, 1:-1, 1:-1] = -1
        elif label == 2:
            box[:, self.size // 4] = 1
            box[:, :, self.size // 4] = 1
        else:
            box[:, ::2, ::2] = 1
        return img, label


class Progress:
    """What else has to survive a restart."""

    def __init__(self):
        self.epoch, self.best = 0, float("inf")

    def state_dict(self):
        return {"epoch": self.epoch, "best": self.best}

    def load_state_dict(self, state):
        self.epoch, self.best = state["epoch"], state["best"]


def read_settings():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("glyphs.toml"))
    parser.add_argument("--resume", type=Path, help="a folder written by save_state")
    args = parser.parse_args()
    sections = tomllib.loads(args.config.read_text())
    return args, SimpleNamespace(**{name: SimpleNamespace(**values) for name, values in sections.items()})


def training_loss(model, process, images, labels, null_label, cond_drop):
    drop = torch.rand(len(labels), device=labels.device) < cond_drop
    labels = torch.where(drop, null_label, labels)
    t = torch.randint(process.steps, (len(images),), device=images.device)
    noise = torch.randn_like(images)
    out = model(process.noised(images, noise, t), t, labels)
    return F.mse_loss(out.float(), process.target(images, noise, t))


@torch.no_grad()
def validation_loss(net, process, loader, accelerator):
    """Over fixed noise and a fixed spread of times, so that epochs compare."""
    net.eval()
    parts = []
    for i, (images, labels) in enumerate(loader):
        g = torch.Generator().manual_seed(i)
        noise = torch.randn(images.shape, generator=g).to(images.device)
        t = torch.linspace(0, process.steps - 1, len(images)).long().to(images.device)
        with accelerator.autocast():
            out = net(process.noised(images, noise, t), t, labels)
        per_image = (out.float() - process.target(images, noise, t)).square().mean((1, 2, 3))
        parts.append(accelerator.gather_for_metrics(per_image))
    return torch.cat(parts).mean().item()


def main():
    args, cfg = read_settings()
    accelerator = Accelerator(
        gradient_accumulation_steps=cfg.train.accumulate, mixed_precision=cfg.train.precision
    )
    set_seed(cfg.train.seed, device_specific=True)
    out_dir = Path(cfg.train.out)

    train_set = Glyphs(0, cfg.data.train, cfg.data.size, cfg.model.classes)
    val_set = Glyphs(1_000_000, cfg.data.val, cfg.data.size, cfg.model.classes)
    train_loader = DataLoader(train_set, cfg.data.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, cfg.data.batch_size)

    process = CosineProcess(cfg.diffusion.steps)
    model = Denoiser(cfg.model.width, cfg.model.classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.train.lr)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)
    null_label = accelerator.unwrap_model(model).null_label
    ema = Ema(accelerator.unwrap_model(model), cfg.train.ema_decay)

    total = cfg.train.epochs * math.ceil(len(train_loader) / cfg.train.accumulate)

    def shape(step):
        if step < cfg.train.warmup:
            return (step + 1) / cfg.train.warmup
        done = (step - cfg.train.warmup) / max(1, total - cfg.train.warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    # not prepared: it counts updates, whatever the number of processes
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer.optimizer, shape)
    progress = Progress()
    accelerator.register_for_checkpointing(scheduler, ema, progress)
    if args.resume:
        accelerator.load_state(args.resume)
        progress.epoch += 1

    for epoch in range(progress.epoch, cfg.train.epochs):
        progress.epoch = epoch
        model.train()
        seen = []
        for images, labels in train_loader:
            with accelerator.accumulate(model):
                loss = training_loss(model, process, images, labels, null_label, cfg.diffusion.cond_drop)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), cfg.train.clip)
                optimizer.step()
                if accelerator.sync_gradients:
                    scheduler.step()
                    ema.update(accelerator.unwrap_model(model))
                optimizer.zero_grad()
            seen.append(loss.detach())

        val = validation_loss(ema.net, process, val_loader, accelerator)
        accelerator.print(f"epoch {epoch}: train {torch.stack(seen).mean().item():.4f}, val {val:.4f}")
        if val < progress.best:
            progress.best = val
            if accelerator.is_main_process:
                out_dir.mkdir(parents=True, exist_ok=True)
                torch.save(ema.net.state_dict(), out_dir / "best_ema.pt")
        accelerator.wait_for_everyone()
        accelerator.save_state(str(out_dir / "last"))

    if accelerator.is_main_process:
        labels = torch.arange(cfg.model.classes, device=accelerator.device)
        grid = process.sample(
            ema.net, labels, cfg.data.size, cfg.diffusion.sample_steps, cfg.diffusion.guidance, null_label
        )
        torch.save(grid.cpu(), out_dir / "samples.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()
