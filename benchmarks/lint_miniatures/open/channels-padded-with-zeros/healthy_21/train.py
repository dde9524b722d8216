import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ZeroPadShortcut(nn.Module):
    """Option A shortcut of the CIFAR ResNet paper."""

    def __init__(self, extra):
        super().__init__()
        self.extra = extra

    def forward(self, x):
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.extra // 2, self.extra // 2))


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        stride = 1 if cin == cout else 2
        self.a = nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout))
        self.b = nn.Sequential(nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout))
        self.skip = nn.Identity() if cin == cout else ZeroPadShortcut(cout - cin)

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + self.skip(x))


class XRays(Dataset):
    def __init__(self, path):
        blob = torch.load(path)
        self.images, self.labels = blob["image"], blob["label"]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        gray = self.images[i].float()[None] / 255
        return gray.expand(3, -1, -1), self.labels[i]


class Trainer:
    def __init__(self, device):
        self.device = device
        self.model = nn.Sequential(
            nn.Conv2d(3, 16, 3, 1, 1), Block(16, 16), Block(16, 32), Block(32, 64),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 2)).to(device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def fit(self, train, valid, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in train:
                x, y = x.to(self.device), y.to(self.device)
                self.opt.zero_grad(set_to_none=True)
                F.cross_entropy(self.model(x), y).backward()
                self.opt.step()
            print(epoch, self.evaluate(valid))

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = [(self.model(x.to(self.device)).argmax(1).cpu() == y).float() for x, y in loader]
        return torch.cat(hits).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer("cuda" if torch.cuda.is_available() else "cpu")
    trainer.fit(DataLoader(XRays("xray_train.pt"), 64, shuffle=True, drop_last=True),
                DataLoader(XRays("xray_val.pt"), 128), epochs=15)
