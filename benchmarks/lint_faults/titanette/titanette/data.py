import torch

from .loss import IGNORE_INDEX

PAD, EOS = 0, 1


def document(index, vocab, longest):
    """A random walk over the vocabulary with a drift of its own."""
    g = torch.Generator().manual_seed(index)
    length = int(torch.randint(longest // 3, longest, (), generator=g))
    drift = int(torch.randint(1, 4, (), generator=g))
    steps = drift + torch.randint(0, 2, (length,), generator=g)
    start = int(torch.randint(0, vocab, (), generator=g))
    return torch.cat([2 + (start + steps.cumsum(0)) % (vocab - 2), torch.tensor([EOS])])


def to_sample(doc, seq_len):
    doc = doc[: seq_len + 1]
    tokens = torch.full((seq_len,), PAD)
    labels = torch.full((seq_len,), IGNORE_INDEX)
    n = len(doc) - 1
    tokens[:n], labels[:n] = doc[:-1], doc[1:]
    return tokens, labels


class DocumentStream:
    """Endless stream of fresh documents; rank r of w takes every w-th. `cursor` is its whole state."""

    def __init__(self, config, rank, world, offset=1_000_000):
        self.vocab, self.seq_len = config.model.vocab, config.training.seq_len
        self.batch = config.training.local_batch_size
        self.rank, self.world, self.offset = rank, world, offset
        self.cursor = 0

    def next_batch(self):
        rows = []
        for _ in range(self.batch):
            index = self.offset + self.cursor * self.world + self.rank
            rows.append(to_sample(document(index, self.vocab, self.seq_len), self.seq_len))
            self.cursor += 1
        return tuple(torch.stack(column) for column in zip(*rows))


def validation_batches(config, rank, world):
    size = config.training.local_batch_size
    mine = range(rank, config.validation.docs, world)
    for i in range(0, len(mine), size):
        rows = [
            to_sample(document(k, config.model.vocab, config.training.seq_len), config.training.seq_len)
            for k in mine[i : i + size]
        ]
        yield tuple(torch.stack(column) for column in zip(*rows))
