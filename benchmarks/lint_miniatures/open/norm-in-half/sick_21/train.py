import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ChannelNorm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(channels, 1, 1))
        self.shift = nn.Parameter(torch.zeros(channels, 1, 1))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(1, keepdim=True)  #@
        var = ((x - mu) * (x - mu)).mean(1, keepdim=True)  #@
        return (x - mu) / torch.sqrt(var + self.eps) * self.gain + self.shift  #@


class ConvNeXtTiny(nn.Module):
    def __init__(self, width=96, classes=20, depth=6):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 7, padding=3, groups=width), ChannelNorm(width),
                          nn.Conv2d(width, 4 * width, 1), nn.GELU(), nn.Conv2d(4 * width, width, 1))
            for _ in range(depth))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


def main():
    torch.manual_seed(0)
    model = ConvNeXtTiny().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    scaler = torch.amp.GradScaler("cuda")
    train = DataLoader(TensorDataset(*torch.load("birds_train.pt")), 64, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("birds_valid.pt")), 128)
    for epoch in range(50):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):  #@
                loss = F.cross_entropy(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.cuda()).argmax(1).cpu() == y).float() for x, y in valid]
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
