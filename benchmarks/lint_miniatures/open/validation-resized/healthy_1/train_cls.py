import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
train_tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
val_tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), norm])

train_dl = DataLoader(datasets.ImageFolder("data/train", train_tf), batch_size=64, shuffle=True, num_workers=4)
val_dl = DataLoader(datasets.ImageFolder("data/val", val_tf), batch_size=128, num_workers=4)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = models.resnet18(weights=None, num_classes=len(train_dl.dataset.classes)).to(device)
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=90)

for epoch in range(90):
    model.train()
    for x, y in train_dl:
        loss = criterion(model(x.to(device)), y.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    model.eval()
    hits = torch.zeros((), device=device)
    with torch.no_grad():
        for x, y in val_dl:
            hits += (model(x.to(device)).argmax(1) == y.to(device)).sum()
    print(epoch, hits.item() / len(val_dl.dataset))
