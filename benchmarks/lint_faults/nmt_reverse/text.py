"""Pairs for a made-up translation task, and batches of about the same number of tokens."""
import random

import torch

PAD, BOS, EOS = 0, 1, 2
SPECIAL = 3


def make_pairs(n, vocab, max_len, seed):
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        src = [rng.randrange(SPECIAL, vocab) for _ in range(rng.randint(3, max_len))]
        pairs.append((src, src[::-1]))
    return pairs


def pad(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def to_batch(pairs):
    src = pad([s + [EOS] for s, _ in pairs])
    tgt = pad([[BOS] + t + [EOS] for _, t in pairs])
    return src, tgt[:, :-1], tgt[:, 1:]


def batches(pairs, tokens_per_batch, shuffle):
    """Sorts by length, with ties broken at random, and cuts where the budget of tokens is full."""
    if shuffle:
        pairs = random.sample(pairs, len(pairs))
    pairs = sorted(pairs, key=lambda p: len(p[1]))
    cut, current = [], []
    for pair in pairs:
        if current and (len(current) + 1) * (len(pair[1]) + 1) > tokens_per_batch:
            cut.append(current)
            current = []
        current.append(pair)
    cut.append(current)
    if shuffle:
        random.shuffle(cut)
    return [to_batch(part) for part in cut]


def grouped(items, n):
    for i in range(0, len(items), n):
        yield items[i:i + n]
