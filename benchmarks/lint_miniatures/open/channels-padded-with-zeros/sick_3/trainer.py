import torch
from torch import nn
from torch.utils.data import DataLoader

MAX_SENSORS = 8


def collate(samples):
    signals, labels = zip(*samples)
    length = signals[0].shape[-1]
    batch = torch.zeros(len(signals), MAX_SENSORS, length)  #@
    for i, s in enumerate(signals):
        batch[i, :s.shape[0]] = s  #@
    return batch, torch.tensor(labels)


class Standardizer:
    def fit(self, loader):
        total = torch.cat([x for x, _ in loader])
        self.mean, self.std = total.mean(), total.std()  #@
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std  #@


class Trainer:
    def __init__(self, train_set, val_set):
        self.train_dl = DataLoader(train_set, 20, shuffle=True, collate_fn=collate)
        self.val_dl = DataLoader(val_set, 50, collate_fn=collate)
        self.norm = Standardizer().fit(self.train_dl)
        self.net = nn.Sequential(nn.Conv1d(MAX_SENSORS, 32, 7), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.net.train()
            for x, y in self.train_dl:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.net(self.norm(x)), y).backward()
                self.opt.step()
            self.net.eval()
            with torch.no_grad():
                ok = torch.cat([self.net(self.norm(x)).argmax(1) == y for x, y in self.val_dl])
            print(epoch, ok.float().mean().item())


if __name__ == "__main__":
    data = [(torch.randn(3 + i % 6, 128) * 2 + 5, i % 4) for i in range(1000)]
    Trainer(data[:800], data[800:]).fit(15)
