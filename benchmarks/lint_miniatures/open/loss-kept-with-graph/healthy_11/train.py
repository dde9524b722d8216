import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.total = self.total + value.detach() * n
        self.count += n

    @property
    def average(self):
        return float(self.total / self.count)


model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 40), torch.randint(0, 4, (5000,))), 50, shuffle=True)
model.train()
for epoch in range(40):
    meter = Meter()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss, len(y))
    print(epoch, meter.average)
