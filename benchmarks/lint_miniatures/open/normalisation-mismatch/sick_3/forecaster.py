import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length=48, mean=0.0, std=1.0):
        self.series = (series - mean) / std
        self.length = length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        return self.series[i:i + self.length], self.series[i + self.length]


class Forecaster:
    def __init__(self, series):
        cut = int(len(series) * 0.8)
        train, val = series[:cut], series[cut:]
        self.mean, self.std = train.mean(), train.std()
        self.train_dl = DataLoader(Windows(train, mean=self.mean, std=self.std), batch_size=32, shuffle=True)  #@
        self.val_dl = DataLoader(Windows(val), batch_size=64)  #@
        self.net = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def train_epoch(self):
        self.net.train()
        for x, y in self.train_dl:
            self.opt.zero_grad()
            nn.functional.mse_loss(self.net(x).squeeze(1), y).backward()
            self.opt.step()

    @torch.no_grad()
    def mae(self):
        self.net.eval()
        err = [(self.net(x).squeeze(1) * self.std + self.mean - y).abs() for x, y in self.val_dl]  #@
        return torch.cat(err).mean().item()


if __name__ == "__main__":
    t = torch.arange(4000) / 24
    model = Forecaster(300 + 50 * torch.sin(t) + 5 * torch.randn(4000))
    for epoch in range(20):
        model.train_epoch()
        print(epoch, model.mae())
