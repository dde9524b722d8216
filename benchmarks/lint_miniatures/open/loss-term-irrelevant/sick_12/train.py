import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import VGG16_Weights, vgg16


class Perceptual(nn.Module):
    def __init__(self):
        super().__init__()
        weights = VGG16_Weights.DEFAULT
        self.features = vgg16(weights=weights).features[:16].eval().requires_grad_(False)
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1))

    def forward(self, a, b):
        fa, fb = (self.features((t - self.mean) / self.std) for t in (a, b))
        return nn.functional.l1_loss(fa, fb)


with open("config.yaml") as f:
    cfg = yaml.safe_load(f)
w = cfg["loss"]
net = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 3, 3, padding=1))
perceptual = Perceptual()
opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
loader = DataLoader(TensorDataset(torch.rand(500, 3, 96, 96)), batch_size=8, shuffle=True)
net.train()
for epoch in range(cfg["epochs"]):
    for (gt,) in loader:
        out = net(gt + 0.1 * torch.randn_like(gt))
        rec = nn.functional.mse_loss(out, gt)
        loss = w["reconstruction"] * rec + w["perceptual"] * perceptual(out, gt) #@
        opt.zero_grad()
        loss.backward()
        opt.step()
