import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torch.utils.data import DataLoader, TensorDataset

gray, labels = torch.rand(1000, 1, 64, 64), torch.randint(0, 10, (1000,))
mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
images = (gray.repeat(1, 3, 1, 1) - mean) / std
train_loader = DataLoader(TensorDataset(images[:800], labels[:800]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(images[800:], labels[800:]), batch_size=100)

model = torchvision.models.resnet18(weights="IMAGENET1K_V1")
model.fc = nn.Linear(model.fc.in_features, 10)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for epoch in range(15):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = torch.cat([model(x).argmax(1) == y for x, y in val_loader]).float().mean()
    print(epoch, acc.item())
