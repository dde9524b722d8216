import math
import os
from itertools import islice

import torch

from .losses import ConfusionMeter, SegLoss


def grouped(batches, size):
    """Lists of `size` batches; the last may be shorter."""
    it = iter(batches)
    while group := list(islice(it, size)):
        yield group


class BaseTrainer:
    """Optimizer, precision, checkpoints and the skeleton of the loop."""

    def __init__(self, net, train_loader, val_loader, cfg, device):
        self.net, self.train_loader, self.val_loader = net, train_loader, val_loader
        self.cfg, self.device = cfg, device
        opt = cfg["optim"]
        self.epochs, self.accumulate, self.max_norm = opt["epochs"], opt["accumulate"], opt["max_norm"]
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=opt["lr"], weight_decay=opt["weight_decay"])
        self.updates_per_epoch = math.ceil(len(train_loader) / self.accumulate)
        self.scheduler = torch.optim.lr_scheduler.PolynomialLR(
            self.optimizer, total_iters=self.epochs * self.updates_per_epoch, power=0.9
        )
        self.amp = opt["fp16"] and device.type == "cuda"
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.amp)
        self.out_dir = cfg["run"]["out_dir"]
        os.makedirs(self.out_dir, exist_ok=True)
        self.epoch, self.updates, self.best = 0, 0, -1.0

    # to be filled in
    def batch_loss(self, batch):
        raise NotImplementedError

    def validate(self):
        raise NotImplementedError

    def on_epoch_start(self):
        pass

    def precision(self):
        return torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp)

    def apply_gradients(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def run_group(self, group):
        total = 0.0
        for batch in group:
            loss = self.batch_loss(batch) / len(group)
            self.scaler.scale(loss).backward()
            total = total + loss.detach()
        self.apply_gradients()
        self.updates += 1
        return total

    def fit(self):
        every = self.cfg["eval"]["every_updates"]
        for self.epoch in range(self.epoch, self.epochs):
            self.on_epoch_start()
            self.net.train()
            history = [self.run_and_maybe_validate(group, every) for group in grouped(self.train_loader, self.accumulate)]
            self.keep_if_best(self.validate())
            print(f"epoch {self.epoch}: loss {torch.stack(history).mean().item():.4f}, best mIoU {self.best:.3f}")
            self.save()

    def run_and_maybe_validate(self, group, every):
        loss = self.run_group(group)
        if self.updates % every == 0:
            self.keep_if_best(self.validate())
        return loss

    def keep_if_best(self, score):
        if score > self.best:
            self.best = score
            torch.save(self.net.state_dict(), os.path.join(self.out_dir, "best_net.pt"))

    def save(self):
        state = {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "next_epoch": self.epoch + 1,
            "updates": self.updates,
            "best": self.best,
        }
        torch.save(state, os.path.join(self.out_dir, "last.pt"))

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        for part in ("net", "optimizer", "scheduler", "scaler"):
            getattr(self, part).load_state_dict(state[part])
        self.epoch, self.updates, self.best = state["next_epoch"], state["updates"], state["best"]


class FieldTrainer(BaseTrainer):
    def __init__(self, *args):
        super().__init__(*args)
        self.criterion = SegLoss(**self.cfg["loss"])

    def on_epoch_start(self):
        self.train_loader.dataset.haze.set_epoch(self.epoch)

    def batch_loss(self, batch):
        image, mask = (t.to(self.device, non_blocking=True) for t in batch)
        with self.precision():
            logits = self.net(image)
        return self.criterion(logits, mask)

    def apply_gradients(self):
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)
        super().apply_gradients()
        self.scheduler.step()

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        meter = ConfusionMeter(self.cfg["model"]["classes"], self.cfg["loss"]["ignore"])
        for image, mask in self.val_loader:
            with self.precision():
                logits = self.net(image.to(self.device))
            meter.update(logits, mask)
        self.net.train()
        return meter.miou()
