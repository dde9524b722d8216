import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total, count = torch.zeros((), device="cuda"), 0
    with torch.autocast("cuda", dtype=torch.float16):
        for x, y in loader:
            total += nn.functional.mse_loss(model(x.cuda()), y.cuda(), reduction="sum")
            count += y.numel()
    model.train()
    return (total / count).item()


def main():
    data = TensorDataset(torch.randn(4000, 20), torch.randn(4000, 1))
    train_set, val_set = random_split(data, [3500, 500])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=256)
    model = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Dropout(0.1), nn.Linear(100, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for epoch in range(20):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
        print(epoch, validate(model, val_loader))


if __name__ == "__main__":
    main()
