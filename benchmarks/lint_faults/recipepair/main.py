import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import dist_utils
from config import Config
from data import loaders
from objective import DecoupledContrast
from towers import PairModel


class Run:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.rank, self.world, self.device = dist_utils.setup()
        torch.manual_seed(cfg.seed)
        self.train_loader, self.val_loader = loaders(cfg, self.rank, self.world)
        self.model = PairModel(cfg.dim, cfg.dropout, cfg.init_scale).to(self.device)
        matrices = [p for p in self.model.parameters() if p.ndim > 1]
        others = [p for p in self.model.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": cfg.weight_decay}, {"params": others, "weight_decay": 0.0}], lr=cfg.lr
        )
        self.ddp = self.model
        if self.world > 1:
            self.ddp = DistributedDataParallel(
                self.model, device_ids=[self.device.index] if self.device.type == "cuda" else None
            )
        self.objective = DecoupledContrast(cfg.align_weight)
        self.half = cfg.fp16 and self.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.half)
        steps = cfg.epochs * len(self.train_loader)

        def rate(step):
            if step < cfg.warmup:
                return (step + 1) / cfg.warmup
            return 0.5 * (1 + math.cos(math.pi * (step - cfg.warmup) / max(1, steps - cfg.warmup)))

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, rate)
        self.epoch, self.best, self.stale = 0, 0.0, 0
        torch.manual_seed(cfg.seed + self.rank)  # dropout differs between the ranks

    @property
    def checkpoint(self):
        return os.path.join(self.cfg.out, "last.pt")

    def step(self, words, photo):
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.half):
            a, b, scale = self.ddp(words, photo)
        loss = self.objective(a.float(), b.float(), scale)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        with torch.no_grad():
            self.model.log_scale.clamp_(max=math.log(self.cfg.max_scale))
        return loss.detach()

    def train_epoch(self):
        self.ddp.train()
        self.train_loader.sampler.set_epoch(self.epoch)
        losses = []
        for words, photo in self.train_loader:
            losses.append(self.step(words.to(self.device), photo.to(self.device)))
        return dist_utils.total(torch.stack(losses).mean()).item() / self.world

    @torch.no_grad()
    def recall(self):
        """How often the photograph of a recipe is the nearest of its batch."""
        self.model.eval()
        counts = torch.zeros(2, device=self.device)
        for words, photo in self.val_loader:
            a, b, _ = self.model(words.to(self.device), photo.to(self.device))
            nearest = (a @ b.t()).argmax(1)
            counts[0] += (nearest == torch.arange(len(a), device=self.device)).sum()
            counts[1] += len(a)
        hits, seen = dist_utils.total(counts).tolist()
        return hits / seen

    def save(self):
        if dist_utils.is_main():
            os.makedirs(self.cfg.out, exist_ok=True)
            state = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler", "scaler")}
            state |= {"epoch": self.epoch + 1, "best": self.best, "stale": self.stale}
            torch.save(state, self.checkpoint)
        dist_utils.barrier()

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        for name in ("model", "optimizer", "scheduler", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.best, self.stale = state["epoch"], state["best"], state["stale"]

    def go(self):
        if self.cfg.resume:
            self.load(self.cfg.resume)
        while self.epoch < self.cfg.epochs:
            loss = self.train_epoch()
            recall = self.recall()
            if dist_utils.is_main():
                print(f"epoch {self.epoch}: loss {loss:.4f}, recall@1 {recall:.3f}", flush=True)
            if recall > self.best:
                self.best, self.stale = recall, 0
                if dist_utils.is_main():
                    os.makedirs(self.cfg.out, exist_ok=True)
                    torch.save(self.model.state_dict(), os.path.join(self.cfg.out, "best.pt"))
            else:
                self.stale += 1
            self.save()
            self.epoch += 1
            if self.stale >= self.cfg.patience:
                break


if __name__ == "__main__":
    Run(Config.from_command_line()).go()
    if dist.is_initialized():
        dist.destroy_process_group()
