"""Small proteins: chains of motifs, with how exposed and how flexible each residue is."""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench.task import Arrays

RESIDUES = 20
FIRST = 2  # 0 is padding, 1 the mask
LONGEST, SHORTEST = 24, 10
MOTIFS, FAMILIES = 8, 4
TRAIN, VAL = 1024, 128

MUTATED = 0.06  # share of residues that follow no motif
EXPOSURE_NOISE = 16.0  # percent

_grammar = np.random.default_rng(20)
_MOTIFS = [_grammar.permutation(RESIDUES)[: int(_grammar.integers(5, 8))] for _ in range(MOTIFS)]
_EXPOSURES = [_grammar.uniform(5, 95, len(motif)) for motif in _MOTIFS]
_OF_FAMILY = [_grammar.permutation(MOTIFS)[:4] for _ in range(FAMILIES)]


def make(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Proteins to train with, and others to validate with."""
    return drawn(rng, TRAIN), drawn(rng, VAL)


def drawn(rng: np.random.Generator, count: int) -> Arrays:
    """Some proteins, padded to the longest."""
    tokens = np.zeros((count, LONGEST), np.uint8)
    exposure = np.zeros((count, LONGEST), np.float32)
    family = rng.integers(FAMILIES, size=count)
    length = rng.integers(SHORTEST, LONGEST + 1, size=count)
    for one in range(count):
        residues, open_to_water = _chain(rng, int(family[one]), int(length[one]))
        tokens[one, : length[one]] = residues + FIRST
        exposure[one, : length[one]] = open_to_water
    flexibility = rng.normal(20.0 + 0.1 * exposure, 8.0).astype(np.float32)
    return {
        "tokens": tokens,
        "length": length.astype(np.int64),
        "exposure": exposure,
        "b_factor": flexibility,
        "family": family.astype(np.int64),
    }


def _chain(rng: np.random.Generator, family: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Motifs of a family one behind the other, cut to a length that begins inside one of them."""
    skip = int(rng.integers(5))
    chosen = [int(rng.choice(_OF_FAMILY[family])) for _ in range(1 + (length + skip) // 5)]
    residues = np.concatenate([_MOTIFS[one] for one in chosen])[skip : skip + length]
    exposure = np.concatenate([_EXPOSURES[one] for one in chosen])[skip : skip + length]
    other = rng.random(length) < MUTATED
    residues = np.where(other, rng.integers(RESIDUES, size=length), residues)
    return residues, np.clip(exposure + rng.normal(0, EXPOSURE_NOISE, length), 0, 100)
