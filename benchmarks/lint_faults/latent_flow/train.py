"""python train.py --max_steps 20 --precision fp16 [--resume runs/flow/last.pt]"""
import argparse
import dataclasses
from pathlib import Path

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

from flow import flow_loss, sample
from model import VelocityNet

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


@dataclasses.dataclass
class Config:
    seed: int = 0
    max_steps: int = 12
    batch_size: int = 8
    grad_accum: int = 2
    lr: float = 3e-4
    warmup: int = 4
    weight_decay: float = 0.01
    grad_clip: float = 1.0
    precision: str = "fp16"
    ema_decay: float = 0.99
    label_dropout: float = 0.1
    latent_scale: float = 0.18215
    dim: int = 48
    depth: int = 2
    heads: int = 4
    classes: int = 3
    sample_steps: int = 4
    guidance: float = 2.0
    log_every: int = 4
    eval_every: int = 6
    out: str = "runs/flow"
    resume: str = ""


def parse() -> Config:
    parser = argparse.ArgumentParser(description=__doc__)
    for field in dataclasses.fields(Config):
        parser.add_argument(f"--{field.name}", type=field.type, default=field.default)
    return Config(**vars(parser.parse_args()))


def make_latents(n: int, classes: int, seed: int) -> TensorDataset:
    """Stands in for latents that an autoencoder wrote to the disk."""
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (n,), generator=g)
    base = torch.linspace(-6, 6, classes)[labels].view(-1, 1, 1, 1)
    return TensorDataset(base + 4 * torch.randn(n, 4, 8, 8, generator=g), labels)


def endless(loader):
    while True:
        yield from loader


def save(path: Path, **parts):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({k: v.state_dict() if hasattr(v, "state_dict") else v for k, v in parts.items()}, path)


def load_checkpoint(path: str, device, **parts) -> dict:
    state = torch.load(path, map_location=device)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    return state


@torch.no_grad()
def validate(net, loader, cfg: Config, device) -> float:
    was_training = net.training
    net.eval()
    g = torch.Generator().manual_seed(1234)
    total, count = torch.zeros((), device=device), 0
    for data, labels in loader:
        noise = torch.randn(data.shape, generator=g).to(device)
        t = torch.rand(data.shape[0], generator=g).to(device)
        loss = flow_loss(net, data.to(device) * cfg.latent_scale, labels.to(device), t, noise)
        total += loss * data.shape[0]
        count += data.shape[0]
    net.train(was_training)
    return (total / count).item()


def main():
    cfg = parse()
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_amp = cfg.precision != "fp32" and device.type == "cuda"
    amp_dtype = DTYPES[cfg.precision]

    train_loader = DataLoader(
        make_latents(64, cfg.classes, seed=1), batch_size=cfg.batch_size, shuffle=True, drop_last=True
    )
    val_loader = DataLoader(make_latents(16, cfg.classes, seed=2), batch_size=cfg.batch_size)

    model = VelocityNet(cfg.dim, cfg.depth, cfg.heads, cfg.classes).to(device)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(cfg.ema_decay))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / cfg.warmup))
    scaler = torch.amp.GradScaler(device.type, enabled=use_amp and amp_dtype is torch.float16)

    step, best = 0, float("inf")
    if cfg.resume:
        state = load_checkpoint(
            cfg.resume, device, model=model, ema=ema, optimizer=optimizer, scheduler=scheduler, scaler=scaler
        )
        step, best = state["step"], state["best"]
        print(f"went on from step {step}")

    batches = endless(train_loader)
    model.train()
    running = torch.zeros((), device=device)
    while step < cfg.max_steps:
        optimizer.zero_grad(set_to_none=True)
        for _ in range(cfg.grad_accum):
            latents, labels = next(batches)
            latents = latents.to(device, non_blocking=True) * cfg.latent_scale
            labels = labels.to(device, non_blocking=True)
            drop = torch.rand(labels.shape, device=device) < cfg.label_dropout
            labels = torch.where(drop, model.null, labels)
            t = torch.sigmoid(torch.randn(latents.shape[0], device=device))
            with torch.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
                loss = flow_loss(model, latents, labels, t, torch.randn_like(latents))
            scaler.scale(loss / cfg.grad_accum).backward()
            running += loss.detach() / cfg.grad_accum
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        ema.update_parameters(model)
        step += 1

        if step % cfg.log_every == 0:
            print(f"step {step}: loss {(running / cfg.log_every).item():.4f}")
            running.zero_()
        if step % cfg.eval_every == 0 or step == cfg.max_steps:
            val = validate(ema, val_loader, cfg, device)
            print(f"step {step}: validation {val:.4f}")
            parts = dict(model=model, ema=ema, optimizer=optimizer, scheduler=scheduler, scaler=scaler, step=step)
            improved, best = val < best, min(val, best)
            save(Path(cfg.out, "last.pt"), **parts, best=best)
            if improved:
                save(Path(cfg.out, "best.pt"), **parts, best=best)

    ema.eval()
    wanted = torch.arange(cfg.classes, device=device)
    pictures = sample(ema, wanted, (4, 8, 8), cfg.sample_steps, cfg.guidance, model.null) / cfg.latent_scale
    torch.save(pictures.cpu(), Path(cfg.out, "samples.pt"))


if __name__ == "__main__":
    main()
