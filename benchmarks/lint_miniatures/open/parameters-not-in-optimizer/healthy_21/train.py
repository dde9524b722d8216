import torch
import torch.nn.functional as F
import torchvision
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms as T


class LinearProbe(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = torchvision.models.resnet50(weights="IMAGENET1K_V2")
        self.backbone.fc = nn.Identity()
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(2048, classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            feats = self.backbone(x)
        return self.head(feats)


def loaders(root, size):
    norm = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    train_tf = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), norm])
    eval_tf = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), norm])
    train = torchvision.datasets.ImageFolder(f"{root}/train", train_tf)
    valid = torchvision.datasets.ImageFolder(f"{root}/valid", eval_tf)
    return (DataLoader(train, size, shuffle=True, num_workers=4),
            DataLoader(valid, size, num_workers=4))


def main():
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    model = LinearProbe(classes=102)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9)
    model, optimizer = fabric.setup(model, optimizer)
    train, valid = fabric.setup_dataloaders(*loaders("data/flowers102", 128))
    for epoch in range(15):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            fabric.backward(F.cross_entropy(model(x), y))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = torch.cat([(model(x).argmax(1) == y).float() for x, y in valid])
        fabric.print(f"{epoch}: {hits.mean():.4f}")


if __name__ == "__main__":
    main()
