import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset

epochs = 30
loader = DataLoader(TensorDataset(torch.randn(900, 14), torch.randint(0, 4, (900,))), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(14, 42), nn.ReLU(), nn.Linear(42, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=10)
iters = len(loader)

for epoch in range(epochs):
    model.train()
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + (i + 1) / iters)
    print(epoch, loss.item(), scheduler.get_last_lr()[0])

torch.save(model.state_dict(), "model.pt")


print("done")
