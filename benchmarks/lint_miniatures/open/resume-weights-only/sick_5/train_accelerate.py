import argparse
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import get_cosine_schedule_with_warmup


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--output_dir", default="out")
    p.add_argument("--resume_from_checkpoint", default=None)
    p.add_argument("--epochs", type=int, default=20)
    args = p.parse_args()
    accelerator = Accelerator()
    torch.manual_seed(0)
    x, y = torch.randn(6000, 40), torch.randint(0, 3, (6000,))
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 100, args.epochs * len(loader))
    first_epoch = 0
    if args.resume_from_checkpoint:
        first_epoch = int(args.resume_from_checkpoint.rstrip("/").split("_")[-1]) + 1  #@
        weights = torch.load(os.path.join(args.resume_from_checkpoint, "model.pt"), map_location="cpu")
        model.load_state_dict(weights)  #@
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    model.train()
    for epoch in range(first_epoch, args.epochs):
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        accelerator.wait_for_everyone()
        path = os.path.join(args.output_dir, f"epoch_{epoch}")
        os.makedirs(path, exist_ok=True)
        accelerator.save(accelerator.unwrap_model(model).state_dict(), os.path.join(path, "model.pt"))  #@


if __name__ == "__main__":
    main()
