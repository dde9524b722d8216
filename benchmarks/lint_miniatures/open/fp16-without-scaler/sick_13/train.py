import argparse
import functools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def half_precision(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        with torch.autocast(device_type="cuda", dtype=torch.half): #@
            return fn(*args, **kwargs)

    return wrapper


@half_precision #@
def compute_loss(model, tokens):
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--epochs", type=int, default=5)
    args = ap.parse_args()
    model = nn.Sequential(nn.Embedding(500, 128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 500)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    loader = DataLoader(TensorDataset(torch.randint(0, 500, (5000, 65))), batch_size=32, shuffle=True)
    model.train()
    for epoch in range(args.epochs):
        for (tokens,) in loader:
            loss = compute_loss(model, tokens.cuda())
            optimizer.zero_grad()
            loss.backward() #@
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step() #@
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
