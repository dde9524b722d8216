import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from spectral import FNO1d

accelerator = Accelerator(mixed_precision="fp16") #@
model = FNO1d()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
u0 = torch.randn(1000, 1, 1024)
loader = DataLoader(TensorDataset(u0, u0.roll(5, -1)), batch_size=20, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(100):
    for a, u in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(a), u)
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
