import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def infinite(loader):
    while True:
        yield from loader


def main(epochs=2000, log_every=200):
    ds = TensorDataset(torch.randn(4000, 7), torch.randn(4000, 1))
    batches = infinite(DataLoader(ds, batch_size=40, shuffle=True, drop_last=True))
    model = nn.Sequential(nn.Linear(7, 70), nn.ReLU(), nn.Linear(70, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    model.train()
    for epoch in range(epochs):
        x, y = next(batches)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        if epoch % log_every == 0:
            print(epoch, loss.item(), scheduler.get_last_lr()[0])


if __name__ == "__main__":
    main()
