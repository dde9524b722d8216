"""torchrun --nproc_per_node=N train.py [--options]"""
import os
import random

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import LambdaLR

import dist_utils as du
from config import from_args
from data import make_loaders
from model import ProteinEncoder, mlm_loss


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def unwrap(model):
    return model.module if isinstance(model, DDP) else model


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def step(self, value):
        """Whether this is the best so far."""
        if value < self.best:
            self.best, self.bad = value, 0
            return True
        self.bad += 1
        return False

    @property
    def stop(self):
        return self.bad >= self.patience

    def state_dict(self):
        return {"best": self.best, "bad": self.bad}

    def load_state_dict(self, state):
        self.best, self.bad = state["best"], state["bad"]


@torch.no_grad()
def evaluate(model, loader, device, amp):
    was_training = model.training
    model.eval()
    stats = torch.zeros(2, device=device)
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        with amp():
            logits = model(batch["input_ids"], batch["attention_mask"])
        stats[0] += mlm_loss(logits, batch["labels"], reduction="sum")
        stats[1] += (batch["labels"] != -100).sum()
    model.train(was_training)
    total, tokens = du.all_sum(stats).tolist()
    return total / max(1, tokens)


def save(path, model, optimizer, scheduler, scaler, stopper, epoch):
    torch.save(
        {
            "model": unwrap(model).state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "scaler": scaler.state_dict(),
            "stopper": stopper.state_dict(),
            "epoch": epoch,
        },
        path,
    )


def load(path, model, optimizer, scheduler, scaler, stopper):
    state = torch.load(path, map_location="cpu")
    unwrap(model).load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    scaler.load_state_dict(state["scaler"])
    stopper.load_state_dict(state["stopper"])
    return state["epoch"] + 1


def main():
    cfg = from_args()
    env = du.setup()
    set_seed(cfg.seed)
    device = env.device
    train_loader, valid_loader = make_loaders(cfg, env)

    model = ProteinEncoder(cfg.model).to(device)
    if env.world_size > 1:
        model = DDP(model, device_ids=[env.local_rank] if device.type == "cuda" else None)
    torch.manual_seed(cfg.seed + env.rank)

    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    total = cfg.epochs * len(train_loader)
    warmup = max(1, int(cfg.warmup_ratio * total))
    scheduler = LambdaLR(optimizer, lambda s: min((s + 1) / warmup, max(0.0, (total - s) / max(1, total - warmup))))
    use_amp = cfg.fp16 and device.type == "cuda"
    scaler = torch.amp.GradScaler("cuda", enabled=use_amp)

    def amp():
        return torch.autocast(device.type, dtype=torch.float16, enabled=use_amp)

    stopper = EarlyStopping(cfg.patience)
    start = load(cfg.resume, model, optimizer, scheduler, scaler, stopper) if cfg.resume else 0
    os.makedirs(cfg.output_dir, exist_ok=True)

    model.train()
    for epoch in range(start, cfg.epochs):
        train_loader.sampler.set_epoch(epoch)
        for step, batch in enumerate(train_loader):
            batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
            with amp():
                logits = model(batch["input_ids"], batch["attention_mask"])
            loss = mlm_loss(logits, batch["labels"])
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            if step % cfg.log_interval == 0:
                if du.any_rank(~torch.isfinite(loss.detach())):
                    raise RuntimeError(f"loss diverged in epoch {epoch}, step {step}")
                if env.is_main:
                    print(f"epoch {epoch} step {step} loss {loss.item():.3f} lr {scheduler.get_last_lr()[0]:.2e}")

        val_loss = evaluate(model, valid_loader, device, amp)
        improved = stopper.step(val_loss)
        if env.is_main:
            print(f"epoch {epoch}: val {val_loss:.4f}")
            save(f"{cfg.output_dir}/last.pt", model, optimizer, scheduler, scaler, stopper, epoch)
            if improved:
                save(f"{cfg.output_dir}/best.pt", model, optimizer, scheduler, scaler, stopper, epoch)
        if stopper.stop:
            break
    du.cleanup()


if __name__ == "__main__":
    main()
