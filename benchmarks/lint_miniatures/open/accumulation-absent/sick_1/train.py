import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--gradient-accumulation-steps", type=int, default=4) #@
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--epochs", type=int, default=10)
args = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
dataset = TensorDataset(torch.randn(1600, 30), torch.randint(0, 5, (1600,)))
loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
model = nn.Sequential(nn.Linear(30, 60), nn.ReLU(), nn.Linear(60, 5)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    for x, y in loader:
        optimizer.zero_grad() #@
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward() #@
        optimizer.step() #@
    print(epoch, loss.item())
