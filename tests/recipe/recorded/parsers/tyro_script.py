# ruff: noqa
import dataclasses
import json
from dataclasses import dataclass, field

import tyro


@dataclass
class Optim:
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)


@dataclass
class Args:
    optim: Optim = field(default_factory=Optim)
    total_timesteps: int = 500000
    cuda: bool = True


if __name__ == "__main__":
    print(json.dumps(dataclasses.asdict(tyro.cli(Args))))
