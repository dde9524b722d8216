"""Centre-point detector on small scenes: a heat map of centres and a size per cell.

Start from a backbone pre-trained with another number of classes by --pretrained.
"""
import argparse
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

STRIDE = 4
PIXEL_MEAN, PIXEL_STD = 0.3, 0.25


class Scenes(Dataset):
    """Bright boxes on a dark ground, sorted by class as in the annotation file."""

    def __init__(self, n, classes, seed, train):
        self.n, self.classes, self.seed, self.train = n, classes, seed, train

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        label = i * self.classes // self.n
        h = w = 48 if self.train else 64
        box_h, box_w = (int(torch.randint(6, 16, (), generator=g)) for _ in range(2))
        top = int(torch.randint(0, h - box_h, (), generator=g))
        left = int(torch.randint(0, w - box_w, (), generator=g))
        image = 0.3 * torch.rand(3, h, w, generator=g)
        image[label % 3, top:top + box_h, left:left + box_w] += 0.6
        box = torch.tensor([top, left, box_h, box_w], dtype=torch.float32)
        if self.train and torch.rand(()) < 0.5:
            image = image.flip(-1)
            box[1] = w - box[1] - box_w
        return normalize(image), box, label


def normalize(image):
    return (image - PIXEL_MEAN) / PIXEL_STD


def encode(boxes, labels, shape, classes):
    """Gaussian heat maps and the sizes at the centres."""
    h, w = shape[-2] // STRIDE, shape[-1] // STRIDE
    cy = (boxes[:, 0] + boxes[:, 2] / 2) / STRIDE
    cx = (boxes[:, 1] + boxes[:, 3] / 2) / STRIDE
    ys = torch.arange(h, device=boxes.device).view(1, h, 1)
    xs = torch.arange(w, device=boxes.device).view(1, 1, w)
    iy, ix = cy.long().clamp(max=h - 1), cx.long().clamp(max=w - 1)
    bump = torch.exp(-((ys - iy.view(-1, 1, 1)) ** 2 + (xs - ix.view(-1, 1, 1)) ** 2) / 2.0)
    heat = torch.zeros(len(boxes), classes, h, w, device=boxes.device)
    heat[torch.arange(len(boxes)), labels] = bump
    return heat, iy, ix


class Detector(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.width = width
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        )
        self.size = nn.Conv2d(2 * width, 2, 1)
        self.replace_head(classes)

    def replace_head(self, classes):
        self.heat = nn.Conv2d(2 * self.width, classes, 1)
        nn.init.constant_(self.heat.bias, -2.2)

    def forward(self, x):
        h = self.backbone(x)
        return self.heat(h), F.softplus(self.size(h))


def focal(logits, target):
    """Penalty-reduced focal loss of heat maps, from logits."""
    pos = target.eq(1).float()
    p = torch.sigmoid(logits)
    hit = -F.logsigmoid(logits) * (1 - p) ** 2 * pos
    miss = -F.logsigmoid(-logits) * p**2 * (1 - target) ** 4 * (1 - pos)
    return (hit + miss).sum() / pos.sum().clamp(min=1)


def losses(outputs, boxes, labels, image_shape, classes, size_weight):
    heat, size = outputs
    target, iy, ix = encode(boxes, labels, image_shape, classes)
    rows = torch.arange(len(boxes), device=boxes.device)
    size_loss = F.l1_loss(size[rows, :, iy, ix], boxes[:, 2:] / STRIDE)
    return focal(heat, target) + size_weight * size_loss


@torch.no_grad()
def evaluate(model, loader, device):
    """Share of scenes whose highest peak has the right class and lies within one cell of the centre."""
    model.eval()
    right = total = 0
    for images, boxes, labels in loader:
        images, boxes, labels = images.to(device), boxes.to(device), labels.to(device)
        heat, _ = model(images)
        h, w = heat.shape[-2:]
        peak = heat.flatten(1).argmax(1)
        cls, y, x = peak // (h * w), peak % (h * w) // w, peak % w
        near = ((y - (boxes[:, 0] + boxes[:, 2] / 2) / STRIDE).abs() <= 1.5) & (
            (x - (boxes[:, 1] + boxes[:, 3] / 2) / STRIDE).abs() <= 1.5
        )
        right += (near & (cls == labels)).sum().item()
        total += len(labels)
    model.train()
    return right / total


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--classes", type=int, default=3)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--milestones", type=int, nargs="+", default=[3], help="epochs where the rate falls")
    p.add_argument("--size-weight", type=float, default=0.1)
    p.add_argument("--pretrained", type=Path)
    p.add_argument("--pretrained-classes", type=int, default=80)
    p.add_argument("--resume", type=Path)
    p.add_argument("--out", type=Path, default=Path("det_out"))
    return p.parse_args()


def main():
    args = get_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = partial(DataLoader, batch_size=args.batch_size)
    train_loader = loader(Scenes(72, args.classes, 0, train=True), shuffle=True, drop_last=True)
    val_loader = loader(Scenes(24, args.classes, 30_000, train=False))

    model = Detector(args.pretrained_classes, args.width)
    if args.pretrained:
        model.load_state_dict(torch.load(args.pretrained, map_location="cpu"))
    model.replace_head(args.classes)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=args.milestones, gamma=0.1)

    first, best = 0, 0.0
    if args.resume:
        saved = torch.load(args.resume, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        first, best = saved["epoch"] + 1, saved["best"]
    args.out.mkdir(exist_ok=True)

    model.train()
    for epoch in range(first, args.epochs):
        running = torch.zeros((), device=device)
        for images, boxes, labels in train_loader:
            images, boxes, labels = images.to(device), boxes.to(device), labels.to(device)
            loss = losses(model(images), boxes, labels, images.shape, args.classes, args.size_weight)
            optimizer.zero_grad()
            loss.backward()
            grad_norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
            optimizer.step()
            running += loss.detach()
        scheduler.step()
        train_loss = running.item() / len(train_loader)
        accuracy = evaluate(model, val_loader, device)
        print(f"epoch {epoch}: loss {train_loss:.3f} last gradient {grad_norm.item():.2f} found {accuracy:.3f}")
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        state |= {"scheduler": scheduler.state_dict(), "epoch": epoch, "best": max(best, accuracy)}
        torch.save(state, args.out / "last.pt")
        if accuracy > best:
            best = accuracy
            torch.save(state, args.out / "best.pt")


if __name__ == "__main__":
    main()
