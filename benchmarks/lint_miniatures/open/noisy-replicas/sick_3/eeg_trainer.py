import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SingleLeadECG(Dataset):
    def __init__(self, signals, labels, leads=12):
        self.signals, self.labels, self.leads = signals, labels, leads

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, i):
        lead = self.signals[i]
        x = lead.unsqueeze(0).repeat(self.leads, 1)  #@
        x = x + torch.randn_like(x) * 0.02 * lead.std()  #@
        return x, self.labels[i]


class ECGTrainer:
    def __init__(self, train_set, val_set, leads=12, classes=5):
        self.net = nn.Sequential(nn.Conv1d(leads, 64, 9, padding=4), nn.BatchNorm1d(64), nn.ReLU(),
                                 nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(64, classes))
        self.train_dl = DataLoader(train_set, batch_size=32, shuffle=True)
        self.val_dl = DataLoader(val_set, batch_size=64)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3)

    def train_epoch(self):
        self.net.train()
        for x, y in self.train_dl:
            self.opt.zero_grad()
            nn.functional.cross_entropy(self.net(x), y).backward()
            self.opt.step()

    @torch.no_grad()
    def accuracy(self):
        self.net.eval()
        return torch.cat([self.net(x).argmax(1) == y for x, y in self.val_dl]).float().mean().item()


if __name__ == "__main__":
    s, l = torch.randn(1200, 500).cumsum(1), torch.randint(0, 5, (1200,))
    trainer = ECGTrainer(SingleLeadECG(s[:1000], l[:1000]), SingleLeadECG(s[1000:], l[1000:]))
    for epoch in range(12):
        trainer.train_epoch()
        print(epoch, trainer.accuracy())
