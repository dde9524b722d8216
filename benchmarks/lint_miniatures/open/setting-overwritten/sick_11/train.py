import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=3e-4) #@
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=100)
args = parser.parse_args()
args.lr = 1e-3 #@

dataset = TensorDataset(torch.randn(4000, 28 * 28), torch.randint(0, 10, (4000,)))
loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
model = nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr) #@
criterion = nn.CrossEntropyLoss()

model.train()
for epoch in range(args.epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
