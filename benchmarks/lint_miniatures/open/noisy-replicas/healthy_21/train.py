import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ultrasound(Dataset):
    def __init__(self, path, noise=0.0):
        self.images, self.masks = torch.load(path)
        self.noise = noise

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        gray = self.images[i].float()[None] / 255
        if self.noise > 0:
            gray = (gray + self.noise * torch.randn_like(gray)).clamp(0, 1)
        return gray.repeat(3, 1, 1), self.masks[i][None].float()


class Segmenter(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Conv2d(64, 1, 1)

    def forward(self, x):
        logits = self.head(self.backbone(x))
        return F.interpolate(logits, size=x.shape[-2:], mode="bilinear")


def dice(logits, mask):
    p = (logits > 0).float()
    return (2 * (p * mask).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)


def main():
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    backbone = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU())
    backbone.load_state_dict(torch.load("rgb_backbone.pt", map_location="cpu"))
    model = Segmenter(backbone)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    model, optimizer = fabric.setup(model, optimizer)
    train, valid = fabric.setup_dataloaders(
        DataLoader(Ultrasound("us_train.pt", noise=0.02), 16, shuffle=True),
        DataLoader(Ultrasound("us_valid.pt"), 16))
    for epoch in range(40):
        model.train()
        for image, mask in train:
            optimizer.zero_grad()
            fabric.backward(F.binary_cross_entropy_with_logits(model(image), mask))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            scores = torch.cat([dice(model(image), mask) for image, mask in valid])
        fabric.print(f"{epoch}: dice {scores.mean():.4f}")


if __name__ == "__main__":
    main()
