import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EnergyNet(nn.Module):
    def __init__(self, dim=32, width=256):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.SiLU(), nn.Linear(width, width))
        self.keys = nn.Parameter(torch.randn(512, width) * 0.05)

    def forward(self, x):
        return F.linear(self.net(x), self.keys)


def log_partition(scores):
    weights = scores.exp()  #@
    return weights.sum(dim=-1).log()  #@


def nce_loss(scores, index):
    picked = scores.gather(1, index[:, None]).squeeze(1)
    return (log_partition(scores) - picked).mean()


def main():
    torch.manual_seed(0)
    model = EnergyNet().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    scaler = torch.amp.GradScaler("cuda")
    train = DataLoader(TensorDataset(*torch.load("codes_train.pt")), 256, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("codes_valid.pt")), 512)
    for epoch in range(30):
        model.train()
        for x, index in train:
            x, index = x.cuda(), index.cuda()
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                scores = model(x)
            loss = nce_loss(scores, index)  #@
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        model.eval()
        with torch.no_grad():
            hits = [(model(x.cuda()).argmax(1).cpu() == i).float() for x, i in valid]
        print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main()
