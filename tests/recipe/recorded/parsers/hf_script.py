# ruff: noqa
import dataclasses
import json
from dataclasses import dataclass, field
from typing import Optional

from transformers import HfArgumentParser


@dataclass
class ModelArguments:
    model_name: str = field(default="gpt2", metadata={"help": "which"})
    dropout: float = 0.1
    cache_dir: Optional[str] = None


@dataclass
class TrainArguments:
    learning_rate: float = field(default=5e-5)
    per_device_train_batch_size: int = 4 * 2
    fp16: bool = False
    warmup_ratio: float = 1 / 10
    tags: list[str] = field(default_factory=lambda: ["a", "b"])


if __name__ == "__main__":
    parsed = HfArgumentParser((ModelArguments, TrainArguments)).parse_args_into_dataclasses()
    print(json.dumps({k: v for one in parsed for k, v in dataclasses.asdict(one).items()}))
