import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def set_lr(optimizer, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr


def lr_at(step, base, warmup, total):
    if step < warmup:
        return base * (step + 1) / warmup
    return base * max(0.0, (total - step) / (total - warmup))


def main(epochs=12):
    loader = DataLoader(TensorDataset(torch.randn(800, 6), torch.randn(800, 1)), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 36), nn.ReLU(), nn.Linear(36, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step, total = 0, epochs * len(loader)
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            set_lr(optimizer, lr_at(step, 1e-3, 40, total))
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            step += 1
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
