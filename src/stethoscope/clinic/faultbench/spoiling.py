"""Ways to spoil data; each gives a function from the arrays of both splits to others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stethoscope.clinic.faultbench.task import Splits, Spoil

How = Callable[[Splits, np.random.Generator], Splits]


def wrong(key: str, share: float) -> Spoil:
    """This share of the training samples has the label or target of another sample."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = splits["train"][key].copy()
        chosen = rng.permutation(len(kept))[: max(2, round(share * len(kept)))]
        kept[chosen] = kept[rng.permutation(chosen)]
        return _with(splits, "train", key, kept)

    return Spoil(how)


def not_finite(key: str, count: int, value: float = np.nan) -> Spoil:
    """Some training samples have a value that is not finite, or absurd; the array becomes one of floats."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = splits["train"][key].astype(np.float32)
        for chosen in rng.permutation(len(kept))[:count]:
            kept[chosen].reshape(-1)[int(rng.integers(kept[chosen].size))] = value
        return _with(splits, "train", key, kept)

    return Spoil(how)


def repeated(count: int) -> Spoil:
    """All training samples are copies of the first few."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        train = splits["train"]
        chosen = np.arange(len(next(iter(train.values())))) % count
        return {**splits, "train": {key: array[chosen] for key, array in train.items()}}

    return Spoil(how)


def leaked(share: float) -> Spoil:
    """This share of the validation samples is taken from the training samples."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        train, val = splits["train"], dict(splits["val"])
        count = round(share * len(next(iter(val.values()))))
        for key, array in val.items():
            val[key] = np.concatenate([train[key][:count], array[count:]])
        return {**splits, "val": val}

    return Spoil(how)


def in_order(key: str) -> Spoil:
    """The training samples lie in the order of one of their arrays."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        order = np.argsort(splits["train"][key].reshape(len(splits["train"][key]), -1)[:, 0], kind="stable")
        return {**splits, "train": {name: array[order] for name, array in splits["train"].items()}}

    return Spoil(how)


def emptied(key: str, share: float) -> Spoil:
    """This share of the training samples holds nothing."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = splits["train"][key].copy()
        kept[rng.permutation(len(kept))[: round(share * len(kept))]] = 0
        return _with(splits, "train", key, kept)

    return Spoil(how)


def shifted(key: str, change: Callable[[np.ndarray], np.ndarray], split: str = "val") -> Spoil:
    """One array of a split is changed as a whole."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        return _with(splits, split, key, change(splits[split][key]))

    return Spoil(how)


def _with(splits: Splits, split: str, key: str, array: np.ndarray) -> Splits:
    return {**splits, split: {**splits[split], key: array}}
