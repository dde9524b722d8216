import argparse
import math
import os
from dataclasses import asdict, dataclass, fields

import torch
import torch.nn.functional as F

from chat_data import IGNORE, get_loader
from modeling import LMConfig, TinyLM, add_adapters


@dataclass
class Args:
    epochs: int = 3
    micro_batch: int = 4
    grad_accum: int = 4
    lr: float = 5e-3
    min_lr_ratio: float = 0.1
    warmup_steps: int = 2
    weight_decay: float = 0.0
    max_norm: float = 1.0
    lora_rank: int = 4
    lora_alpha: float = 8.0
    lora_dropout: float = 0.05
    seed: int = 1
    log_steps: int = 3
    base_weights: str = ""
    save_to: str = "sft_out"
    resume_from: str = ""

    @classmethod
    def parse(cls):
        p = argparse.ArgumentParser()
        for f in fields(cls):
            p.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
        return cls(**vars(p.parse_args()))


def windows(loader, size):
    """Lists of `size` micro-batches; the last one may be shorter."""
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def count_targets(batch):
    return int((batch["labels"][:, 1:] != IGNORE).sum())


class SFT:
    def __init__(self, args: Args):
        self.args = args
        torch.manual_seed(args.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        lm = LMConfig()
        model = TinyLM(lm)
        if args.base_weights:
            model.load_state_dict(torch.load(args.base_weights, map_location="cpu"))
        model = add_adapters(model, args.lora_rank, args.lora_alpha, args.lora_dropout)
        self.model = model.to(self.device)
        self.params = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.params, lr=args.lr, weight_decay=args.weight_decay)
        self.train_loader = get_loader(80, 0, lm.vocab_size, args.micro_batch, train=True)
        self.val_loader = get_loader(24, 90_000, lm.vocab_size, args.micro_batch, train=False)
        self.total_steps = args.epochs * math.ceil(len(self.train_loader) / args.grad_accum)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.lr_factor)
        self.amp = self.device.type == "cuda"
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.amp)
        self.step, self.epoch, self.best = 0, 0, float("inf")

    def lr_factor(self, step):
        a = self.args
        if step < a.warmup_steps:
            return (step + 1) / a.warmup_steps
        t = (step - a.warmup_steps) / max(1, self.total_steps - a.warmup_steps)
        return a.min_lr_ratio + (1 - a.min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * min(1.0, t)))

    def summed_loss(self, batch):
        ids, labels = batch["ids"].to(self.device), batch["labels"].to(self.device)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
            logits = self.model(ids)
        return F.cross_entropy(
            logits[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE, reduction="sum"
        )

    def optimize(self):
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.params, self.args.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.step += 1

    def train_epoch(self):
        self.model.train()
        for window in windows(self.train_loader, self.args.grad_accum):
            targets = sum(count_targets(batch) for batch in window)
            shown = torch.zeros((), device=self.device)
            self.optimizer.zero_grad(set_to_none=True)
            for batch in window:
                loss = self.summed_loss(batch) / targets
                self.scaler.scale(loss).backward()
                shown += loss.detach()
            self.optimize()
            if self.step % self.args.log_steps == 0:
                print(f"step {self.step}/{self.total_steps} loss {shown.item():.4f}")

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total = sum(self.summed_loss(batch).item() for batch in self.val_loader)
        return total / sum(count_targets(batch) for batch in self.val_loader)

    def checkpoint(self, name):
        os.makedirs(self.args.save_to, exist_ok=True)
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "scaler": self.scaler.state_dict(),
                "step": self.step,
                "epoch": self.epoch,
                "best": self.best,
                "args": asdict(self.args),
            },
            os.path.join(self.args.save_to, name),
        )

    def restore(self, path):
        ckpt = torch.load(path, map_location=self.device)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.scaler.load_state_dict(ckpt["scaler"])
        self.step, self.epoch, self.best = ckpt["step"], ckpt["epoch"], ckpt["best"]

    def run(self):
        if self.args.resume_from:
            self.restore(self.args.resume_from)
        while self.epoch < self.args.epochs:
            self.train_epoch()
            val = self.evaluate()
            self.epoch += 1
            print(f"epoch {self.epoch} val loss {val:.4f} ppl {math.exp(val):.2f}")
            improved, self.best = val < self.best, min(val, self.best)
            self.checkpoint("last.pt")
            if improved:
                self.checkpoint("best.pt")


if __name__ == "__main__":
    SFT(Args.parse()).run()
