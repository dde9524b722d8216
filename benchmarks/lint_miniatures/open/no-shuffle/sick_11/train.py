import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

train_tf = T.Compose([T.RandomResizedCrop(128), T.RandomHorizontalFlip(), T.ToTensor()])
val_tf = T.Compose([T.Resize(144), T.CenterCrop(128), T.ToTensor()])
train_set = datasets.ImageFolder("data/train", train_tf)
val_set = datasets.ImageFolder("data/val", val_tf)
loader_args = dict(batch_size=32, num_workers=4, pin_memory=True) #@
train_loader = DataLoader(train_set, **loader_args) #@
val_loader = DataLoader(val_set, **loader_args)

model = nn.Sequential(
    nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, len(train_set.classes)),
)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(30):
    model.train()
    for x, y in train_loader: #@
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(epoch, hits / len(val_set))
