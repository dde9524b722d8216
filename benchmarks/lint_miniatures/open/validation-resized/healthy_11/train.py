import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms as T

norm = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
train_tf = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), norm])
val_tf = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), norm])
train_loader = DataLoader(datasets.ImageFolder("imagenet/train", train_tf), 256, shuffle=True, num_workers=8)
val_loader = DataLoader(datasets.ImageFolder("imagenet/val", val_tf), 256, num_workers=8)

model = models.resnet50().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=90)
for epoch in range(90):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()

    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in val_loader:
            hits += (model(x.cuda()).argmax(1) == y.cuda()).sum()
    print(epoch, hits.item() / len(val_loader.dataset))
