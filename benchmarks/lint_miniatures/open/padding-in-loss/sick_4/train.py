from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    vocab: int = 500
    tags: int = 9
    pad_id: int = 0
    max_len: int = 50
    lr: float = 1e-3
    epochs: int = 8


class TaggedSentences(Dataset):
    def __init__(self, cfg, n=2000):
        self.cfg = cfg
        lengths = torch.randint(5, cfg.max_len, (n,)).tolist()
        self.rows = [(torch.randint(1, cfg.vocab, (k,)), torch.randint(0, cfg.tags, (k,))) for k in lengths]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        words, tags = self.rows[i]
        gap = self.cfg.max_len - len(words)
        return F.pad(words, (0, gap), value=self.cfg.pad_id), F.pad(tags, (0, gap), value=-1)


def tagging_loss(logits, tags):
    per_token = F.cross_entropy(logits.transpose(1, 2), tags.clamp(min=0), reduction="none") #@
    return per_token.mean() #@


def main(cfg):
    model = nn.Sequential(nn.Embedding(cfg.vocab, 64, padding_idx=cfg.pad_id), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, cfg.tags))
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    loader = DataLoader(TaggedSentences(cfg), batch_size=64, shuffle=True)
    for epoch in range(cfg.epochs):
        for words, tags in loader:
            optimizer.zero_grad()
            loss = tagging_loss(model(words), tags) #@
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main(Config())
