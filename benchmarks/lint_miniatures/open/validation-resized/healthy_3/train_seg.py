import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Coarse(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, classes, 3, 2, 1))

    def forward(self, x):
        return self.enc(x)


def full_size(logits, mask):
    return F.interpolate(logits, size=mask.shape[-2:], mode="bilinear", align_corners=False)


def evaluate(net, loader):
    net.eval()
    hits, total = torch.zeros(()), 0
    with torch.no_grad():
        for img, mask in loader:
            hits += (full_size(net(img), mask).argmax(1) == mask).sum()
            total += mask.numel()
    return hits.item() / total


def main():
    img, mask = torch.rand(200, 3, 64, 96), torch.randint(0, 5, (200, 64, 96))
    train_dl = DataLoader(TensorDataset(img[:160], mask[:160]), batch_size=8, shuffle=True)
    val_dl = DataLoader(TensorDataset(img[160:], mask[160:]), batch_size=8)
    net = Coarse()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(15):
        net.train()
        for x, m in train_dl:
            opt.zero_grad()
            F.cross_entropy(full_size(net(x), m), m).backward()
            opt.step()
        print(epoch, evaluate(net, val_dl))


if __name__ == "__main__":
    main()
