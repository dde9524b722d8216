import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(5000, 3, 32, 32)
y = torch.randint(0, 10, (5000,))
train_loader = DataLoader(TensorDataset(x[:4500], y[:4500]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x[4500:], y[4500:]), batch_size=100)

model = nn.Sequential(
    nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

model.train() #@
for epoch in range(50): #@
    for images, labels in train_loader: #@
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()

    model.eval() #@
    val_loss = 0.0
    with torch.no_grad():
        for images, labels in val_loader:
            val_loss += criterion(model(images), labels).item()
    print(f"[{epoch}] val {val_loss / len(val_loader):.4f}")
