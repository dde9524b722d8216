import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_scheduler(optimizer, warmup, total):
    def fn(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, fn)


def train_step(model, batch, optimizer, scheduler):
    x, y = batch
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    scheduler.step() #@
    optimizer.step() #@
    return loss.detach()


def main(epochs=10):
    loader = DataLoader(TensorDataset(torch.randn(1600, 8), torch.randn(1600, 1)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = build_scheduler(optimizer, warmup=50, total=epochs * len(loader))
    for epoch in range(epochs):
        model.train()
        losses = [train_step(model, batch, optimizer, scheduler) for batch in loader]
        print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
