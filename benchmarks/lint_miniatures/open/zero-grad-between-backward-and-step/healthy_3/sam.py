import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rho = 0.05
loader = DataLoader(TensorDataset(torch.randn(800, 10), torch.randint(0, 5, (800,))), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(15):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        with torch.no_grad():
            params = list(model.parameters())
            norm = torch.norm(torch.stack([p.grad.norm() for p in params])) + 1e-12
            offsets = [rho * p.grad / norm for p in params]
            for p, e in zip(params, offsets):
                p.add_(e)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p, e in zip(params, offsets):
                p.sub_(e)
        optimizer.step()
    print(epoch, loss.item())
