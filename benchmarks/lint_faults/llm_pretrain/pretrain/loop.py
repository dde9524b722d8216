import math
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from .data import TokenStream
from .model import Transformer


def lr_lambda(cfg):
    def at(step):
        if step < cfg.warmup_steps:
            return (step + 1) / cfg.warmup_steps
        done = (step - cfg.warmup_steps) / max(1, cfg.max_steps - cfg.warmup_steps)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, done)))

    return at


def token_loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


class Pretrainer:
    def __init__(self, cfg, rank, world_size, device):
        self.cfg, self.rank, self.world_size, self.device = cfg, rank, world_size, device
        net = Transformer(cfg.vocab, cfg.dim, cfg.layers, cfg.heads, cfg.seq_len).to(device)
        self.model = DistributedDataParallel(net) if world_size > 1 else net
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=cfg.lr, betas=(0.9, 0.95), weight_decay=cfg.weight_decay
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_lambda(cfg))
        self.stream = TokenStream(cfg.vocab, cfg.seq_len, cfg.seed, rank)
        self.loader = iter(DataLoader(self.stream, batch_size=cfg.micro_batch))
        self.valid = iter(DataLoader(TokenStream(cfg.vocab, cfg.seq_len, cfg.seed + 1, rank), batch_size=cfg.micro_batch))
        self.autocast = torch.autocast(device.type, dtype=torch.bfloat16)
        self.step = 0
        if cfg.resume:
            self.load(cfg.resume)

    def micro_batch(self, source):
        tokens = next(source).to(self.device, non_blocking=True)
        return tokens[:, :-1], tokens[:, 1:]

    def train_step(self):
        accum = self.cfg.accumulation
        total = torch.zeros((), device=self.device)
        for micro in range(accum):
            last = micro == accum - 1
            sync = nullcontext() if last or self.world_size == 1 else self.model.no_sync()
            with sync:
                ids, targets = self.micro_batch(self.loader)
                with self.autocast:
                    loss = token_loss(self.model(ids), targets) / accum
                loss.backward()
            total += loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total, norm

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total = torch.zeros((), device=self.device)
        for _ in range(self.cfg.eval_batches):
            ids, targets = self.micro_batch(self.valid)
            with self.autocast:
                total += token_loss(self.model(ids), targets)
        self.model.train()
        return self.mean_over_ranks(total / self.cfg.eval_batches)

    def mean_over_ranks(self, value):
        if self.world_size > 1:
            dist.all_reduce(value)
            value = value / self.world_size
        return value.item()

    def fit(self):
        best, stale = math.inf, 0
        while self.step < self.cfg.max_steps:
            total, norm = self.train_step()
            self.step += 1
            if self.step % self.cfg.log_every == 0 and self.rank == 0:
                print(f"step {self.step} loss {total.item():.4f} norm {norm.item():.3f}")
            if self.step % self.cfg.eval_every == 0:
                val = self.evaluate()
                best, stale = (val, 0) if val < best else (best, stale + 1)
                if self.rank == 0:
                    print(f"step {self.step} val {val:.4f}")
                self.save(os.path.join(self.cfg.out, f"rank{self.rank}.pt"))
                if stale > self.cfg.patience:
                    break

    def state_dict(self):
        net = self.model.module if self.world_size > 1 else self.model
        return {
            "net": net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "stream": self.stream.state_dict(),
            "step": self.step,
        }

    def save(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(self.state_dict(), path)

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        net = self.model.module if self.world_size > 1 else self.model
        net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.stream.load_state_dict(state["stream"])
        self.step = state["step"]
