import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--weight-decay", type=float, default=0.05) #@
parser.add_argument("--dropout", type=float, default=0.1)
args = parser.parse_args()

data = TensorDataset(torch.randn(5000, 40), torch.randint(0, 8, (5000,)))
loader = DataLoader(data, batch_size=args.batch_size, shuffle=True)
model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Dropout(args.dropout), nn.Linear(128, 8))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr) #@

model.train()
for epoch in range(args.epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
torch.save(model.state_dict(), "model.pt")
