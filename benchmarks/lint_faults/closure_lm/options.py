import argparse
from dataclasses import MISSING, dataclass, fields


@dataclass
class Options:
    steps: int = 24
    window: int = 32
    batch: int = 8
    accumulate: int = 2
    width: int = 48
    depth: int = 2
    lr: float = 2e-3
    warmup: int = 6
    clip: float = 1.0
    shadow_decay: float = 0.995
    dtype: str = "float16"
    check_every: int = 8
    seed: int = 5
    out: str = "lm.pt"
    resume: str = ""

    def __post_init__(self):
        self.warmup = min(self.warmup, self.steps // 2)
        if self.dtype not in ("float16", "bfloat16", "float32"):
            raise ValueError(f"no such dtype: {self.dtype}")


def from_command_line() -> Options:
    parser = argparse.ArgumentParser()
    for f in fields(Options):
        assert f.default is not MISSING
        parser.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
    return Options(**vars(parser.parse_args()))
