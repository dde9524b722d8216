import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from film import ModulatedConv


class Net(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.head = nn.Conv2d(1, ch, 3, padding=1)
        self.layers = nn.ModuleList(ModulatedConv(ch, 4) for _ in range(10)) #@
        self.tail = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, cond):
        h = self.head(x)
        for layer in self.layers:
            h = layer(h, cond)
        return self.tail(h)


accelerator = Accelerator(mixed_precision="fp16") #@
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
x = torch.rand(500, 1, 48, 48)
loader = DataLoader(TensorDataset(x, torch.rand(500, 4), x.sqrt()), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(20):
    for img, cond, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(img, cond), target)
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
