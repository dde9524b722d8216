import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--max-grad-norm", type=float, default=0.0, help="0 disables clipping") #@
    p.add_argument("--epochs", type=int, default=8)
    args = p.parse_args()
    accelerator = Accelerator(log_with="tensorboard", project_dir="logs")
    accelerator.init_trackers("run")
    max_norm = args.max_grad_norm if args.max_grad_norm > 0 else torch.inf #@
    model = nn.Sequential(nn.Linear(80, 160), nn.ReLU(), nn.Linear(160, 12))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(6000, 80), torch.randint(0, 12, (6000,)))
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, 60, shuffle=True))
    model.train()
    step = 0
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            norm = accelerator.clip_grad_norm_(model.parameters(), max_norm) #@
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % 20 == 0:
                accelerator.log({"grad_norm": norm.item(), "loss": loss.item()}, step=step) #@
    accelerator.end_training()


if __name__ == "__main__":
    main()
