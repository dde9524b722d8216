import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--gradient-accumulation-steps", type=int, default=16) #@
parser.add_argument("--lr", type=float, default=3e-4)
parser.add_argument("--epochs", type=int, default=10)
args = parser.parse_args()

model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
loader = DataLoader(TensorDataset(torch.randn(4000, 64), torch.randint(0, 10, (4000,))), args.batch_size, shuffle=True)
print(f"effective batch size {args.batch_size * args.gradient_accumulation_steps}") #@

model.train()
for epoch in range(args.epochs):
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step() #@
        optimizer.zero_grad() #@
        if step % 100 == 0:
            print(epoch, step, loss.item())
