import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=10, T_mult=2)
data = TensorDataset(torch.randn(10000, 64), torch.randint(0, 10, (10000,)))
loader = DataLoader(data, batch_size=100, shuffle=True)
iters = len(loader)

model.train()
for epoch in range(70):
    total = torch.zeros(())
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + i / iters)
        total += loss.detach()
    print(epoch, total.item() / iters)

torch.save(model.state_dict(), "model.pt")
