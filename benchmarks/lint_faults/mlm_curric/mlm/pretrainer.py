from __future__ import annotations

import contextlib
import math
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .curriculum import Curriculum
from .data import Windows
from .model import MaskedLM, masked_nll
from .settings import Settings

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def average(value: torch.Tensor, world: int) -> torch.Tensor:
    if world > 1:
        dist.all_reduce(value)
    return value / world


class Pretrainer:
    def __init__(self, cfg: Settings, device: torch.device, rank: int, world: int) -> None:
        self.cfg, self.device, self.rank, self.world = cfg, device, rank, world
        self.net = MaskedLM(cfg.model, cfg.data.max_length).to(device)
        self.model: nn.Module = DistributedDataParallel(self.net) if world > 1 else self.net
        self.train_data = Windows(cfg.model.vocab, cfg.data.batch_size, cfg.seed)
        self.eval_data = Windows(cfg.model.vocab, cfg.data.batch_size, cfg.seed + 1, size=4_000)
        self.curriculum = Curriculum(cfg.curriculum, cfg.data.max_length)
        decay = [p for p in self.net.parameters() if p.ndim > 1]
        rest = [p for p in self.net.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": cfg.optim.weight_decay}, {"params": rest, "weight_decay": 0.0}],
            lr=cfg.optim.lr, betas=(0.9, 0.98),
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._factor)
        self.dtype = DTYPES[cfg.optim.precision]
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.dtype is torch.float16 and device.type == "cuda")
        self.step, self.best = 0, math.inf
        self.workdir = Path(cfg.workdir)
        self.workdir.mkdir(parents=True, exist_ok=True)

    def _factor(self, step: int) -> float:
        o = self.cfg.optim
        if step < o.warmup_steps:
            return (step + 1) / o.warmup_steps
        done = (step - o.warmup_steps) / max(1, o.total_steps - o.warmup_steps)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, done)))

    def _autocast(self) -> contextlib.AbstractContextManager:
        mixed = self.dtype is not torch.float32 and self.device.type == "cuda"
        return torch.autocast(self.device.type, dtype=self.dtype, enabled=True) if mixed else contextlib.nullcontext()

    def update(self) -> torch.Tensor:
        """One optimiser step over all micro batches; gives the mean loss of this rank."""
        o = self.cfg.optim
        length, ratio = self.curriculum.at(self.step)
        total = torch.zeros((), device=self.device)
        self.optimizer.zero_grad(set_to_none=True)
        for micro in range(o.accumulate):
            ids, labels = self.train_data.batch((self.step, micro, self.rank), length, ratio)
            hold = self.world > 1 and micro + 1 < o.accumulate
            with self.model.no_sync() if hold else contextlib.nullcontext():
                with self._autocast():
                    logits = self.model(ids.to(self.device))
                loss = masked_nll(logits, labels.to(self.device)) / o.accumulate
                self.scaler.scale(loss).backward()
            total += loss.detach()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.net.parameters(), o.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        return total

    @torch.no_grad()
    def evaluate(self) -> float:
        """Loss on the same windows and masks every time, at the full length and ratio."""
        self.net.eval()
        length, ratio = self.curriculum.final()
        losses = []
        for i in range(self.cfg.data.eval_batches):
            ids, labels = self.eval_data.batch((i, self.rank), length, ratio)
            with self._autocast():
                logits = self.net(ids.to(self.device))
            losses.append(masked_nll(logits, labels.to(self.device)))
        self.net.train()
        return average(torch.stack(losses).mean(), self.world).item()

    def fit(self) -> None:
        r = self.cfg.report
        window = torch.zeros((), device=self.device)
        self.model.train()
        while self.step < self.cfg.optim.total_steps:
            window += self.update()
            self.step += 1
            if self.step % r.log_every == 0:
                mean = average(window / r.log_every, self.world)
                window = torch.zeros((), device=self.device)
                if self.rank == 0:
                    print(f"step {self.step}: loss {mean.item():.4f}, lr {self.scheduler.get_last_lr()[0]:.2e}")
            if self.step % r.eval_every == 0:
                self._evaluate_and_save()

    def _evaluate_and_save(self) -> None:
        loss = self.evaluate()
        improved, self.best = loss < self.best, min(loss, self.best)
        if self.rank == 0:
            print(f"step {self.step}: validation {loss:.4f}")
            self.save("last.pt")
            if improved:
                self.save("best.pt")

    def _parts(self) -> dict:
        return {"net": self.net, "optimizer": self.optimizer, "scheduler": self.scheduler, "scaler": self.scaler}

    def save(self, name: str) -> None:
        state = {key: part.state_dict() for key, part in self._parts().items()}
        torch.save({**state, "step": self.step, "best": self.best, "rng": torch.get_rng_state()}, self.workdir / name)

    def resume(self, path: str) -> None:
        state = torch.load(path, map_location="cpu", weights_only=True)
        for key, part in self._parts().items():
            part.load_state_dict(state[key])
        self.step, self.best = state["step"], state["best"]
        if self.world == 1:
            torch.set_rng_state(state["rng"])
