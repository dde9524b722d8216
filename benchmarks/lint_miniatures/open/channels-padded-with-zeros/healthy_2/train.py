import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CHANNELS = 6


class Fields(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        now, nxt = self.pairs[i]
        c = now.shape[0]
        x, y = now.new_zeros(CHANNELS, *now.shape[1:]), nxt.new_zeros(CHANNELS, *nxt.shape[1:])
        valid = torch.zeros(CHANNELS, 1, 1)
        x[:c], y[:c], valid[:c] = now, nxt, 1.0
        return x, y, valid


def masked_l1(pred, target, valid):
    err = (pred - target).abs() * valid
    return err.sum() / valid.expand_as(err).sum()


pairs = [(f := torch.randn(1 + i % 6, 24, 24), torch.roll(f, 1, -1)) for i in range(600)]
train_dl = DataLoader(Fields(pairs[:500]), batch_size=20, shuffle=True)
val_dl = DataLoader(Fields(pairs[500:]), batch_size=50)
net = nn.Sequential(nn.Conv2d(CHANNELS, 48, 5, padding=2), nn.GELU(), nn.Conv2d(48, CHANNELS, 5, padding=2))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for epoch in range(20):
    net.train()
    for x, y, valid in train_dl:
        opt.zero_grad()
        masked_l1(net(x), y, valid).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, torch.stack([masked_l1(net(x), y, m) for x, y, m in val_dl]).mean().item())
