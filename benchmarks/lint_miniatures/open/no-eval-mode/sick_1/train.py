import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(2000, 20)
y = (x[:, :3].sum(1) > 0).long()
train_loader = DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(x[1600:], y[1600:]), batch_size=64)

model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()

    correct = 0
    with torch.no_grad():  #@
        for data, target in test_loader:  #@
            pred = model(data).argmax(dim=1)  #@
            correct += (pred == target).sum()
    print(f"epoch {epoch}: accuracy {correct.item() / len(test_loader.dataset):.4f}")
