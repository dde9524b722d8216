import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from attention import SelfAttention

fabric = Fabric(accelerator="cuda", devices=1, precision="16-mixed") #@
fabric.launch()

model = nn.Sequential(nn.Linear(32, 256), SelfAttention(256, 8), SelfAttention(256, 8), nn.Linear(256, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer = fabric.setup(model, optimizer)
dataset = TensorDataset(torch.randn(2048, 50, 32), torch.randn(2048, 50, 1))
loader = fabric.setup_dataloaders(DataLoader(dataset, batch_size=64, shuffle=True))

model.train()
for epoch in range(15):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        fabric.backward(loss)
        optimizer.step()
    fabric.print(epoch, loss.item())
