import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from base import BaseTrainer


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
                         nn.Dropout2d(0.15))


class RoadNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1, self.enc2 = block(4, 32), block(32, 64)
        self.dec = block(96, 32)
        self.out = nn.Conv2d(32, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        return self.out(self.dec(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))


class RoadTrainer(BaseTrainer):
    def loss(self, batch):
        image, mask = batch
        return F.binary_cross_entropy_with_logits(self.model(image), mask)

    def score(self, batch):
        image, mask = batch
        pred = self.model(image) > 0  #@
        inter = (pred & mask.bool()).sum((1, 2, 3))
        union = (pred | mask.bool()).sum((1, 2, 3))
        return (inter + 1) / (union + 1)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = RoadNet().to(device)
    trainer = RoadTrainer(net, torch.optim.Adam(net.parameters(), lr=1e-3), device)
    trainer.fit(DataLoader(TensorDataset(*torch.load("roads_train.pt")), 16, shuffle=True),
                DataLoader(TensorDataset(*torch.load("roads_valid.pt")), 16), epochs=40)
