import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def save_checkpoint(path, step, model, optimizer, scheduler):
    torch.save(
        {
            "step": step,
            "state_dict": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
        path,
    )


def load_checkpoint(path, model): #@
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["state_dict"]) #@
    return ckpt["step"] #@


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume", type=str)
    ap.add_argument("--steps", type=int, default=20000)
    args = ap.parse_args()
    model = nn.Sequential(nn.Linear(50, 200), nn.GELU(), nn.Linear(200, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps)
    step = load_checkpoint(args.resume, model) if args.resume else 0 #@
    loader = DataLoader(TensorDataset(torch.randn(9000, 50), torch.randn(9000, 1)), batch_size=32, shuffle=True)
    model.train()
    while step < args.steps:
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.huber_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step % 1000 == 0:
                save_checkpoint("last.pt", step, model, optimizer, scheduler)
            if step >= args.steps:
                break


if __name__ == "__main__":
    main()
