import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--gradient-accumulation-steps", type=int, default=16)
args = parser.parse_args()
accum = args.gradient_accumulation_steps
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
data = TensorDataset(torch.randn(4000, 64), torch.randint(0, 10, (4000,)))
loader = DataLoader(data, batch_size=args.batch_size * accum, shuffle=True, drop_last=True)

model.train()
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        for xs, ys in zip(x.chunk(accum), y.chunk(accum)):
            loss = nn.functional.cross_entropy(model(xs), ys) / accum
            loss.backward()
        optimizer.step()
    print(epoch, loss.item() * accum)
