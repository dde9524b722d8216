import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 3
IGNORE = 255


class Scenes(Dataset):
    """Sky, ground and one box; a thin unlabelled border."""

    def __init__(self, n, size, seed):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(self.seed + idx)
        s = self.size
        horizon = int(torch.randint(s // 3, 2 * s // 3, (), generator=g))
        label = torch.zeros(s, s, dtype=torch.long)
        label[horizon:] = 1
        x, w = int(torch.randint(0, s // 2, (), generator=g)), int(torch.randint(3, s // 2, (), generator=g))
        label[horizon - 3 : horizon + 3, x : x + w] = 2
        img = torch.stack([(label == k).float() for k in range(3)]) + 0.3 * torch.randn(3, s, s, generator=g)
        label[:1], label[-1:] = IGNORE, IGNORE
        return img, label


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                                 nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.enc1, self.enc2 = DoubleConv(3, ch), DoubleConv(ch, 2 * ch)
        self.up = nn.ConvTranspose2d(2 * ch, ch, 2, 2)
        self.dec = DoubleConv(2 * ch, ch)
        self.head = nn.Conv2d(ch, NUM_CLASSES, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        return self.head(self.dec(torch.cat([a, self.up(b)], 1)))


def train_one_epoch(model, loader, optimizer, scaler, device, args):
    model.train()
    for step, (img, label) in enumerate(loader):
        img, label = img.to(device), label.to(device)
        optimizer.zero_grad()
        with autocast(enabled=args.amp):
            out = model(img)
            loss = F.cross_entropy(out, label, ignore_index=IGNORE)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        if step % 10 == 0:
            print("step {} loss {:.4f} scale {}".format(step, loss.item(), scaler.get_scale()))


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    inter = torch.zeros(NUM_CLASSES, device=device)
    union = torch.zeros(NUM_CLASSES, device=device)
    for img, label in loader:
        img, label = img.to(device), label.to(device)
        pred = model(img).argmax(1)
        valid = label != IGNORE
        for k in range(NUM_CLASSES):
            p, t = (pred == k) & valid, (label == k) & valid
            inter[k] += (p & t).sum()
            union[k] += (p | t).sum()
    return (inter / union.clamp(min=1)).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--bs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--out", default="unet_runs")
    parser.add_argument("--no-amp", dest="amp", action="store_false")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    args.amp = args.amp and device.type == "cuda"
    train_loader = DataLoader(Scenes(32, 24, 0), batch_size=args.bs, shuffle=True, drop_last=True)
    val_loader = DataLoader(Scenes(8, 24, 5000), batch_size=args.bs)
    model = UNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=3)
    scaler = GradScaler(enabled=args.amp)
    os.makedirs(args.out, exist_ok=True)
    best = 0.0
    for epoch in range(args.epochs):
        train_one_epoch(model, train_loader, optimizer, scaler, device, args)
        miou = evaluate(model, val_loader, device)
        scheduler.step(miou)
        print("epoch {} mIoU {:.4f}".format(epoch, miou))
        if miou > best:
            best = miou
            torch.save(model.state_dict(), os.path.join(args.out, "best.pth"))


if __name__ == "__main__":
    main()
