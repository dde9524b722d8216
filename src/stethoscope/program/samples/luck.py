"""Chance in the making of a sample: drawn, or all at one end, by whichever library it is asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stethoscope.program.walk.bounded_arrays import CannotCompute

ENDS = {"low": 0.0, "high": 0.999}
MAKERS = frozenset({"Random", "default_rng", "RandomState", "Generator", "SystemRandom"})
FAMILIES = ("random.", "numpy.random.", "torch.rand")
DRAWING = frozenset({
    "random", "uniform", "randint", "randrange", "rand", "randn", "choice", "choices", "sample", "shuffle",
    "normal", "gauss", "integers", "random_sample", "randperm", "permutation", "getrandbits",
    "standard_normal", "normalvariate", "beta", "betavariate",
})  # fmt: skip
SILENT = frozenset({"seed", "manual_seed", "get_state", "set_state", "getstate", "setstate"})


class Luck:
    """What chance gives, one call after the other; the same `kind` gives the same."""

    def __init__(self, kind: int | str) -> None:
        self.end = ENDS.get(kind) if isinstance(kind, str) else None
        self.rng = np.random.default_rng(kind if isinstance(kind, int) else 0)

    def share(self) -> float:
        """A number from 0 to 1."""
        return float(self.rng.random()) if self.end is None else self.end

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, which is left out."""
        if high <= low:
            raise CannotCompute("nothing to draw from")
        return low + min(int(self.share() * (high - low)), high - low - 1)

    def drawn(self, name: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        """`random.randint(0, 9)`, `np.random.rand()`, `torch.randint(0, 9, (1,))`."""
        family, _, last = name.rpartition(".")
        size = keywords.get("size", keywords.get("k"))
        if last in {
            "rand",
            "random",
            "random_sample",
            "randn",
            "standard_normal",
            "normal",
            "gauss",
            "normalvariate",
        }:
            return self._array(last, args, size)
        if last in {"uniform"}:
            low, high = (*args, 0.0, 1.0)[:2] if args else (0.0, 1.0)
            return self._many(lambda: low + (high - low) * self.share(), size)
        if last in {"randint", "randrange", "integers"}:
            return self._integer(family, last, args, keywords)
        if last in {"choice", "choices", "sample"}:
            return self._chosen(last, args, keywords)
        if last in {"randperm", "permutation"}:
            count = args[0] if isinstance(args[0], int) else len(args[0])
            order = self.rng.permutation(count) if self.end is None else np.arange(count)
            return order if isinstance(args[0], int) else np.asarray(args[0])[order]
        if last == "shuffle" and isinstance(args[0], list):
            self.rng.shuffle(args[0])
            return None
        if last in {"beta", "betavariate"}:
            return self.share()
        raise CannotCompute(name)

    def _array(self, last: str, args: list[Any], size: Any) -> Any:
        is_normal = last not in {"rand", "random", "random_sample"}
        sizes = args[0] if args and isinstance(args[0], list | tuple) else args
        if last in {"normal", "gauss", "normalvariate"}:
            sizes = size if size is not None else ()
        elif size is not None:
            sizes = size
        sizes = (sizes,) if isinstance(sizes, int) else tuple(int(one) for one in sizes)
        if math.prod(sizes) > 1 << 20:
            raise CannotCompute("too many draws")
        if is_normal:
            made = self.rng.standard_normal(sizes)
        else:
            made = self.rng.random(sizes) if self.end is None else np.full(sizes, self.end)
        return made if sizes else float(made)

    def _many(self, one: Any, size: Any) -> Any:
        if size is None:
            return one()
        count = size if isinstance(size, int) else math.prod(size)
        return np.reshape([one() for _ in range(min(count, 1 << 16))], size)

    def _integer(self, family: str, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        ends = [one for one in args if isinstance(one, int | np.integer)]
        low, high = (0, ends[0]) if len(ends) == 1 else (ends[0], ends[1])
        is_closed = last == "randint" and not family.startswith(("numpy", "torch"))
        size = keywords.get("size", next((a for a in args if isinstance(a, list | tuple)), None))
        return self._many(lambda: self.whole(int(low), int(high) + is_closed), size)

    def _chosen(self, last: str, args: list[Any], keywords: dict[str, Any]) -> Any:
        pool = list(range(args[0])) if isinstance(args[0], int) else list(args[0])
        count = keywords.get(
            "k", keywords.get("size", args[1] if len(args) > 1 and last != "choices" else None)
        )
        if last == "choice" and count is None:
            return pool[self.whole(0, len(pool))]
        picked = [pool[self.whole(0, len(pool))] for _ in range(int(count or 1))]
        if last == "sample":
            picked = [pool[i] for i in self.rng.permutation(len(pool))[: int(count or 1)]]
        return picked
