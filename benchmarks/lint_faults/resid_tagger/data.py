"""Synthetic stand-in for the CB513 / NetSurfP csv files: amino acid strings with 3-state labels."""
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

AMINO = "ACDEFGHIKLMNPQRSTVWY"
AA2ID = {a: i + 1 for i, a in enumerate(AMINO)}  # 0 is padding
STATES = "HEC"
HELIX, SHEET = set("AELMQKRH"), set("VIYCWFT")
IGNORE = -100


def make_chain(rng):
    seq, lab = [], []
    for _ in range(rng.randint(3, 7)):
        state = rng.choice(STATES)
        for _ in range(rng.randint(3, 9)):
            pool = {"H": HELIX, "E": SHEET, "C": set("GPNDS")}[state]
            seq.append(rng.choice(sorted(pool)) if rng.random() < 0.75 else rng.choice(AMINO))
            lab.append(STATES.index(state))
    return "".join(seq), lab


class Chains(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = [make_chain(rng) for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        seq, lab = self.rows[i]
        return torch.tensor([AA2ID[a] for a in seq]), torch.tensor(lab)


def pad_chains(rows):
    seqs, labs = zip(*rows)
    lengths = torch.tensor([len(s) for s in seqs])
    x = pad_sequence(seqs, batch_first=True, padding_value=0)
    y = pad_sequence(labs, batch_first=True, padding_value=IGNORE)
    return x, y, lengths
