import argparse
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

from diffusion import Denoiser, GaussianDiffusion
from ema import EMA


def spiral(n):
    t = torch.rand(n).sqrt() * 9
    return torch.stack([t.cos() * t, t.sin() * t], 1) / 6 + 0.03 * torch.randn(n, 2)


def cycle(loader):
    while True:
        for batch in loader:
            yield batch


def evaluate(diffusion, model, loader, device):
    """Denoising loss on held-out data, with the same noise each time."""
    model.eval()
    total = torch.zeros((), device=device)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        for (x0,) in loader:
            total += diffusion.loss(model, x0.to(device))
    return (total / len(loader)).item()


def main(args):
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(spiral(512)), batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(TensorDataset(spiral(128)), batch_size=64)
    diffusion = GaussianDiffusion(device=device)
    model = Denoiser(hidden=args.hidden).to(device)
    ema = EMA(model, decay=args.ema_decay)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.warmup_steps))

    step, best = 0, float("inf")
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.load_state_dict(state["model"])
        ema.load_state_dict(state["ema"])
        optimizer.load_state_dict(state["optimizer"])
        warmup.load_state_dict(state["warmup"])
        step, best = state["step"], state["best"]

    os.makedirs(args.out, exist_ok=True)
    batches = cycle(loader)
    while step < args.max_steps:
        model.train()
        (x0,) = next(batches)
        loss = diffusion.loss(model, x0.to(device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        optimizer.zero_grad()
        ema.update(model)
        step += 1

        if step % args.eval_every == 0:
            val = evaluate(diffusion, ema.module, val_loader, device)
            print(f"step {step} train {loss.item():.4f} val {val:.4f}")
            state = {"model": model.state_dict(), "ema": ema.state_dict(), "optimizer": optimizer.state_dict(),
                     "warmup": warmup.state_dict(), "step": step, "best": min(best, val)}
            torch.save(state, os.path.join(args.out, "last.pt"))
            if val < best:
                best = val
                torch.save(state, os.path.join(args.out, "best.pt"))

    samples = diffusion.sample(ema.module, (64, 2), device)
    torch.save(samples.cpu(), os.path.join(args.out, "samples.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup_steps", type=int, default=5)
    parser.add_argument("--ema_decay", type=float, default=0.995)
    parser.add_argument("--max_steps", type=int, default=12)
    parser.add_argument("--eval_every", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", default=None)
    parser.add_argument("--out", default="ddpm_out")
    main(parser.parse_args())
