import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

from engine import Engine


def main():
    x = torch.randn(4000, 24)
    y = x[:, :4].sum(1, keepdim=True) + 0.1 * torch.randn(4000, 1)
    train_set, val_set = random_split(TensorDataset(x, y), [3200, 800])
    net = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 1))
    engine = Engine(net, torch.optim.AdamW(net.parameters(), lr=3e-4), nn.MSELoss(), "cpu")
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=256)
    for epoch in range(30):
        engine.fit_epoch(train_loader)
        print(epoch, engine.evaluate(val_loader)) #@


if __name__ == "__main__":
    main()
