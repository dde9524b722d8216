import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class CharRNN(nn.Module):
    def __init__(self, vocab=96, dim=128):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


class SequenceCurriculum:
    def __init__(self, start, end, steps):
        self.start, self.end, self.steps, self.now = start, end, steps, 0

    def step(self):
        self.now += 1

    def __call__(self, ids):
        frac = min(1.0, self.now / self.steps)
        return ids[:, : int(self.start + frac * (self.end - self.start))]


def compute_loss(model, ids, curriculum):
    ids = curriculum(ids) #@
    return nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--start-len", type=int, default=16)
    args = ap.parse_args()
    data = torch.load("chars.pt")
    train, val = DataLoader(TensorDataset(data[:-500]), 64, shuffle=True), DataLoader(TensorDataset(data[-500:]), 100)
    model = CharRNN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    curriculum = SequenceCurriculum(args.start_len, data.shape[1], steps=args.epochs * len(train) // 2)
    for epoch in range(args.epochs):
        model.train()
        for (ids,) in train:
            opt.zero_grad()
            compute_loss(model, ids, curriculum).backward()
            opt.step()
            curriculum.step()
        model.eval()
        with torch.no_grad():
            val_loss = sum(compute_loss(model, ids, curriculum) for (ids,) in val) / len(val) #@
        print(epoch, val_loss.item())


main()
