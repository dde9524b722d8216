import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 60
images = torch.rand(3000, 1, 48, 48)
train_loader = DataLoader(TensorDataset(images[:2700]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(images[2700:]), batch_size=50)
net = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 1, 5, padding=2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def noise_level(epoch):
    return 0.02 + 0.28 * min(1.0, epoch / (0.5 * EPOCHS))


def corrupt(x, sigma):
    return x + sigma * torch.randn_like(x)


for epoch in range(EPOCHS):
    sigma = noise_level(epoch) #@
    net.train()
    for (x,) in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(corrupt(x, sigma)), x).backward()
        opt.step()

    net.eval()
    val = 0.0
    with torch.no_grad():
        for (x,) in val_loader:
            val += nn.functional.mse_loss(net(corrupt(x, sigma)), x).item() #@
    print(f"epoch {epoch} sigma {sigma:.2f} val {val / len(val_loader):.5f}")
