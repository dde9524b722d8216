import torch
import torch.nn.functional as F
from torch import nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


class GlobalFilter(nn.Module):
    def __init__(self, channels, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, size, size // 2 + 1, 2) * 0.02)
        self.proj = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        h = self.proj(x)
        spec = torch.fft.rfft2(h, norm="ortho")  #@
        spec = spec * torch.view_as_complex(self.weight)
        return x + torch.fft.irfft2(spec, s=h.shape[-2:], norm="ortho")


class GFNet(nn.Module):
    def __init__(self, width=64, size=64, classes=45):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.blocks = nn.Sequential(*[GlobalFilter(width, size) for _ in range(4)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = GFNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    scaler = GradScaler("cuda")
    train = DataLoader(TensorDataset(*torch.load("resisc_train.pt")), 64, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("resisc_valid.pt")), 128)
    for epoch in range(30):
        model.train()
        for image, label in train:
            image, label = image.to(device), label.to(device)
            optimizer.zero_grad(set_to_none=True)
            with autocast("cuda", dtype=torch.float16):  #@
                loss = F.cross_entropy(model(image), label)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.to(device)).argmax(1).cpu() == y).float() for x, y in valid]
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
