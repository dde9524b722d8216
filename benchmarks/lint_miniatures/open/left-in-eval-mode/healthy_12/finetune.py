import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

tf = transforms.Compose([
    transforms.RandomResizedCrop(224),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
loader = DataLoader(datasets.ImageFolder("flowers/train", tf), batch_size=32, shuffle=True, num_workers=4)

backbone = models.resnet50(weights=models.ResNet50_Weights.IMAGENET1K_V2)
backbone.fc = nn.Identity()
for p in backbone.parameters():
    p.requires_grad_(False)
backbone.eval()  # frozen, running statistics stay those of ImageNet

head = nn.Sequential(nn.Dropout(0.2), nn.Linear(2048, 102))
head.train()
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
for epoch in range(8):
    for images, labels in loader:
        with torch.no_grad():
            feats = backbone(images)
        loss = nn.functional.cross_entropy(head(feats), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(head.state_dict(), "head.pt")
