import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms as T

tf = T.Compose([T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.25] * 3)])
loader = DataLoader(datasets.CIFAR100("data", True, tf, download=True), batch_size=256, shuffle=True, num_workers=4)
model = models.resnet18(num_classes=100).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
criterion = nn.CrossEntropyLoss()

for epoch in range(100):
    model.train()
    for images, labels in loader:
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.amp.autocast(): #@
            outputs = model(images)
            loss = criterion(outputs, labels)
        loss.backward() #@
        optimizer.step() #@
    scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
torch.save(model.state_dict(), "resnet18_cifar100.pt")
