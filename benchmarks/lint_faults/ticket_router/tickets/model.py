import torch
from torch import nn

from .data import PAD, QUEUES, SLOTS, TAGS


class Head(nn.Sequential):
    def __init__(self, dim, classes, dropout):
        super().__init__(nn.Dropout(dropout), nn.Linear(dim, classes))


class Router(nn.Module):
    def __init__(self, vocab, dim, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim // 2, bidirectional=True, batch_first=True)
        self.heads = nn.ModuleDict({
            "queue": Head(dim, len(QUEUES), dropout),
            "tags": Head(dim, len(TAGS), dropout),
            "slots": Head(dim, len(SLOTS), dropout),
        })
        self.anchors = nn.Parameter(torch.randn(len(QUEUES), dim))

    def encode(self, words):
        lengths = (words != PAD).sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(words), lengths, True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], True, total_length=words.shape[1])
        mask = (words != PAD).unsqueeze(-1)
        return states, (states * mask).sum(1) / mask.sum(1)

    def forward(self, words):
        states, doc = self.encode(words)
        return {
            "queue": self.heads["queue"](doc),
            "tags": self.heads["tags"](doc),
            "slots": self.heads["slots"](states),
            "doc": doc,
            "anchors": self.anchors,
        }
