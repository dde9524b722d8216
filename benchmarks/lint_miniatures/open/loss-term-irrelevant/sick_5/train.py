import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(32, 128), nn.ReLU())
        self.cls = nn.Linear(128, 5)
        self.reg = nn.Linear(128, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.reg(h)


def criterion(outputs, label, value, aux_weight):
    logits, pred = outputs
    main = F.cross_entropy(logits, label)
    aux = F.smooth_l1_loss(pred, value)
    return main + aux_weight * aux #@


parser = argparse.ArgumentParser()
parser.add_argument("--aux-weight", type=float, default=1e-7) #@
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=10)
args = parser.parse_args()

accelerator = Accelerator()
model = MultiTask()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
data = TensorDataset(torch.randn(4000, 32), torch.randint(0, 5, (4000,)), torch.randn(4000, 1))
loader = DataLoader(data, batch_size=64, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(args.epochs):
    for x, label, value in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), label, value, args.aux_weight) #@
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
