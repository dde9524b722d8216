import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--eval-every", type=int, default=100)
    return p.parse_args()


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 3, 1, 1))

    def forward(self, x):
        return self.up(self.down(x))


def dice_on(net, loader):  #@
    inter = union = 0.0
    with torch.no_grad():  #@
        for img, mask in loader:
            pred = (net(img).sigmoid() > 0.5).float()  #@
            inter = inter + (pred * mask).sum()
            union = union + pred.sum() + mask.sum()
    return (2 * inter / union.clamp(min=1)).item()


def main():
    args = parse_args()
    img = torch.rand(400, 3, 32, 32)
    mask = (img.mean(1, keepdim=True) > 0.5).float()
    train_dl = DataLoader(TensorDataset(img[:320], mask[:320]), args.batch_size, shuffle=True)
    val_dl = DataLoader(TensorDataset(img[320:], mask[320:]), args.batch_size)
    net = TinyUNet()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    step = 0
    for _ in range(args.epochs):
        for x, y in train_dl:
            opt.zero_grad()
            F.binary_cross_entropy_with_logits(net(x), y).backward()
            opt.step()
            step += 1
            if step % args.eval_every == 0:
                print(step, dice_on(net, val_dl))  #@


if __name__ == "__main__":
    main()
