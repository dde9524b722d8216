from dataclasses import dataclass, field


@dataclass
class OptimConfig:
    name: str = "sgd"
    lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4
    max_grad_norm: float = 5.0


@dataclass
class Config:
    run_dir: str = "runs/default"
    epochs: int = 3
    batch_size: int = 8
    image_size: int = 16
    num_classes: int = 4
    seed: int = 0
    print_every: int = 5
    resume: str = ""
    optim: OptimConfig = field(default_factory=OptimConfig)
