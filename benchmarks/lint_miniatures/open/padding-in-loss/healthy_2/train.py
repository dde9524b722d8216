import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(batch):
    words = pad_sequence([w for w, _ in batch], batch_first=True, padding_value=0)
    tags = pad_sequence([t for _, t in batch], batch_first=True, padding_value=-100)
    return words, tags


def make_data(n=2000):
    lengths = torch.randint(5, 50, (n,)).tolist()
    return [(torch.randint(1, 500, (k,)), torch.randint(0, 9, (k,))) for k in lengths]


def main():
    model = nn.Sequential(nn.Embedding(500, 64, padding_idx=0), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 9))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(make_data(), batch_size=64, shuffle=True, collate_fn=collate)
    for epoch in range(8):
        for words, tags in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(words).transpose(1, 2), tags)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
