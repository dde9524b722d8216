import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

train_tf = transforms.Compose([
    transforms.RandomCrop(32, padding=4),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),  #@
])
test_tf = transforms.Compose([transforms.ToTensor()])  #@

train_loader = DataLoader(datasets.CIFAR10("data", train=True, download=True, transform=train_tf), batch_size=128, shuffle=True)
test_loader = DataLoader(datasets.CIFAR10("data", train=False, transform=test_tf), batch_size=256)  #@
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(30):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    hits = torch.zeros((), device=device)
    with torch.no_grad():
        for x, y in test_loader:
            hits += (model(x.to(device)).argmax(1) == y.to(device)).sum()
    print(epoch, hits.item() / len(test_loader.dataset))
