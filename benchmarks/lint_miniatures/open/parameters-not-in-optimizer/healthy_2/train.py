import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def split_decay(modules):
    decay, no_decay = [], []
    for p in itertools.chain.from_iterable(m.parameters() for m in modules):
        (decay if p.ndim >= 2 else no_decay).append(p)
    return [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}]


def main():
    loader = DataLoader(TensorDataset(torch.randn(1600, 20)), batch_size=40, shuffle=True)
    enc = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 8))
    dec = nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Linear(40, 20))
    optimizer = torch.optim.AdamW(split_decay([enc, dec]), lr=1e-3)
    for epoch in range(10):
        enc.train()
        dec.train()
        for (x,) in loader:
            loss = nn.functional.mse_loss(dec(enc(x)), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
