import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

random.seed(11)
np.random.seed(11)
torch.manual_seed(11)
device = "cuda" if torch.cuda.is_available() else "cpu"

table = np.load("data/energy.npy").astype("float32")
features = torch.from_numpy(table[:, :-1])
target = torch.from_numpy(table[:, -1:])
dataset = TensorDataset(features, target)
n_valid = len(dataset) // 5
train_set, valid_set = random_split(dataset, [len(dataset) - n_valid, n_valid])
train_loader = DataLoader(train_set, batch_size=128, shuffle=True, drop_last=True)
valid_loader = DataLoader(valid_set, batch_size=512)

model = nn.Sequential(
    nn.Linear(features.shape[1], 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 1)
).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
criterion = nn.MSELoss()
lowest = float("inf")

for epoch in range(60):
    model.train()
    running = torch.zeros((), device=device)
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.detach()
    epoch_loss = (running / len(train_loader)).item()

    model.eval()
    squared, count = 0.0, 0
    with torch.no_grad():
        for x, y in valid_loader:
            x, y = x.to(device), y.to(device)
            squared += ((model(x) - y) ** 2).sum().item()
            count += y.numel()
    print(f"{epoch:03d} train {epoch_loss:.4f} valid rmse {(squared / count) ** 0.5:.4f}")

    if epoch_loss < lowest:  #@
        lowest = epoch_loss  #@
        torch.save(model.state_dict(), "energy_best.pt")  #@
