import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(
    nn.Linear(30, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 1),
    nn.Sigmoid(), #@
)
criterion = nn.BCEWithLogitsLoss() #@
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(4000, 30)
y = (x[:, 0] * x[:, 1] > 0).float().unsqueeze(1)
train_loader = DataLoader(TensorDataset(x[:3200], y[:3200]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x[3200:], y[3200:]), batch_size=100)
for epoch in range(50):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb) #@
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = sum(((model(xb) > 0.5) == yb.bool()).sum() for xb, yb in val_loader).item() / 800
    print(epoch, acc)
