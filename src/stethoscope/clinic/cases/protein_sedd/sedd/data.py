"""Protein-like sequences, drawn by program, padded to one length.

Each sequence belongs to a family. A family prefers some residues after others and keeps a motif, so
there is something to learn; lengths differ, so there is something to pad.
"""

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor
from torch.utils.data import Dataset

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
CLS, PAD, EOS, UNK = 0, 1, 2, 3
FIRST_RESIDUE = 4
VOCABULARY = FIRST_RESIDUE + len(RESIDUES)

FAMILIES = 2
FAVOURITES = 2  # residues that a family likes after each residue
FAITHFUL = 0.9  # how often it takes one of them
MOTIF = 6
SHORTEST = 0.4  # of the room between the first and the last token
FAMILY_SEED = 7


class ProteinDataset(Dataset[Tensor]):
    """A fixed list of sequences: `<cls>`, residues, `<eos>`, then `<pad>` up to `max_length`."""

    def __init__(self, sequences: int, max_length: int, seed: int) -> None:
        families = [_family(np.random.default_rng((FAMILY_SEED, index))) for index in range(FAMILIES)]
        rng = np.random.default_rng(seed)
        self.rows = torch.full((sequences, max_length), PAD)
        for row in self.rows:
            residues = _sequence(rng, families[int(rng.integers(FAMILIES))], max_length - 2)
            row[: len(residues) + 2] = torch.tensor([CLS, *(FIRST_RESIDUE + residues), EOS])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Tensor:
        return self.rows[index]


Family = tuple[np.ndarray, np.ndarray]  # what follows each residue, and the motif


def _family(rng: Generator) -> Family:
    followers = np.stack([rng.choice(len(RESIDUES), FAVOURITES, replace=False) for _ in RESIDUES])
    return followers, rng.integers(len(RESIDUES), size=MOTIF)


def _sequence(rng: Generator, family: Family, room: int) -> np.ndarray:
    followers, motif = family
    length = int(rng.integers(int(SHORTEST * room), room + 1))
    residues = [int(rng.integers(len(RESIDUES)))]
    while len(residues) < length:
        faithful = rng.random() < FAITHFUL
        residues.append(
            int(rng.choice(followers[residues[-1]])) if faithful else int(rng.integers(len(RESIDUES)))
        )
    sequence = np.array(residues)
    start = int(rng.integers(length - MOTIF + 1))
    sequence[start : start + MOTIF] = motif
    return sequence
