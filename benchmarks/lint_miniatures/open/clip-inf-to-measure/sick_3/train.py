import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--max-grad-norm", type=float, default=np.inf, help="inf: only log the norm") #@
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--log-every", type=int, default=50)
    return parser.parse_args()


def main():
    args = parse_args()
    model = nn.LSTM(8, 64, batch_first=True)
    head = nn.Linear(64, 1)
    params = list(model.parameters()) + list(head.parameters())
    optimizer = torch.optim.AdamW(params, lr=args.lr)
    loader = DataLoader(TensorDataset(torch.randn(2000, 30, 8), torch.randn(2000, 1)), batch_size=32, shuffle=True)
    step = 0
    for epoch in range(args.epochs):
        for x, y in loader:
            hidden, _ = model(x)
            loss = nn.functional.mse_loss(head(hidden[:, -1]), y)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(params, args.max_grad_norm) #@
            optimizer.step()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step} loss {loss.item():.4f} grad_norm {norm.item():.4f}")


if __name__ == "__main__":
    main()
