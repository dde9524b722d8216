import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
post = [T.ToTensor(), T.Normalize(MEAN, STD)]
train_set = datasets.CIFAR10("data", True, T.Compose([T.RandomCrop(32, 4), T.RandomHorizontalFlip(), *post]), download=True)
test_set = datasets.CIFAR10("data", False, T.Compose(post))
train_loader = DataLoader(train_set, batch_size=128, shuffle=True)
test_loader = DataLoader(test_set, batch_size=256)

net = nn.Sequential(
    nn.Conv2d(3, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(20):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        hits = sum((net(x).argmax(1) == y).sum() for x, y in test_loader)
    print(epoch, hits.item() / 10000)
