"""Sequence tagging where each phase of training is a generator of results."""
import json
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, random_split

from corpus import TagCorpus, collate, PAD_TAG

DEFAULTS = {"epochs": 3, "batch_size": 8, "lr": 0.01, "hidden": 24, "decay_every": 2, "gamma": 0.5, "seed": 5,
            "out": "tagger_out"}


class Tagger(nn.Module):
    def __init__(self, vocab, tags, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(2 * hidden, tags)

    def forward(self, words):
        states, _ = self.lstm(self.embed(words))
        return self.head(self.drop(states))


def criterion(logits, tags):
    return nn.functional.cross_entropy(logits.transpose(1, 2), tags, ignore_index=PAD_TAG)


def train_batches(model, loader, optimizer, device):
    model.train()
    for words, tags in loader:
        words, tags = words.to(device), tags.to(device)
        loss = criterion(model(words), tags)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        yield loss.detach()


def valid_batches(model, loader, device):
    model.eval()
    with torch.no_grad():
        for words, tags in loader:
            words, tags = words.to(device), tags.to(device)
            hits = (model(words).argmax(-1) == tags) & (tags != PAD_TAG)
            yield hits.sum(), (tags != PAD_TAG).sum()


def epochs(cfg, model, optimizer, scheduler, train_loader, valid_loader, device):
    for epoch in range(cfg["epochs"]):
        losses = torch.stack(list(train_batches(model, train_loader, optimizer, device)))
        scheduler.step()
        hits, total = map(torch.stack, zip(*valid_batches(model, valid_loader, device)))
        yield epoch, losses.mean().item(), (hits.sum() / total.sum()).item()


def main():
    cfg = dict(DEFAULTS)
    if len(sys.argv) > 1:
        cfg.update(json.loads(Path(sys.argv[1]).read_text()))
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = TagCorpus(160)
    train_set, valid_set = random_split(corpus, [128, 32])
    train_loader = DataLoader(train_set, cfg["batch_size"], shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(valid_set, cfg["batch_size"], collate_fn=collate)
    model = Tagger(corpus.vocab, corpus.tags, cfg["hidden"]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, cfg["decay_every"], cfg["gamma"])
    out = Path(cfg["out"])
    out.mkdir(exist_ok=True)
    best = 0.0
    for epoch, loss, accuracy in epochs(cfg, model, optimizer, scheduler, train_loader, valid_loader, device):
        print(f"{epoch}: loss {loss:.4f} accuracy {accuracy:.4f}")
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), out / "best.pt")


if __name__ == "__main__":
    main()
