"""The settings, read strictly: a key that no option has stops the run before it starts."""

import dataclasses
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, Union

import yaml

T = TypeVar("T")


class OptionError(ValueError):
    """A setting that cannot be used, with its name as the user typed it."""


@dataclass(frozen=True, slots=True)
class TrainDataset:
    """Image pairs to cut training patches from."""

    name: str
    type: str
    image_seed: int
    num_images: int
    image_size: int
    lq_size: int
    batch_size_per_gpu: int
    use_hflip: bool = True
    use_rot: bool = True


@dataclass(frozen=True, slots=True)
class ValDataset:
    """Whole image pairs to measure on."""

    name: str
    type: str
    image_seed: int
    num_images: int
    image_size: int


@dataclass(frozen=True, slots=True)
class Datasets:
    """The two phases."""

    train: TrainDataset
    val: ValDataset


@dataclass(frozen=True, slots=True)
class NetworkG:
    """The shape of the generator."""

    type: str
    num_feat: int = 12
    num_blocks: int = 1
    upsampler_alpha: float = 0.4


@dataclass(frozen=True, slots=True)
class PathOptions:
    """What to start from; nothing means from scratch."""

    pretrain_network_g: str | None = None
    resume_state: str | None = None


@dataclass(frozen=True, slots=True)
class OptimG:
    """The optimiser of the generator."""

    type: str
    lr: float
    weight_decay: float = 0.0
    betas: list[float] = field(default_factory=lambda: [0.9, 0.99])


@dataclass(frozen=True, slots=True)
class Scheduler:
    """MultiStepLR reads milestones and gamma; CosineAnnealingLR reads T_max and eta_min."""

    type: str
    milestones: list[int] = field(default_factory=list)
    gamma: float = 0.5
    T_max: int = 0
    eta_min: float = 0.0


@dataclass(frozen=True, slots=True)
class DynamicLossScheduling:
    """Settings of the dynamic loss scheduler."""

    enabled: bool = False
    momentum: float = 0.9
    adaptation_rate: float = 0.01
    min_weight: float = 1e-6
    max_weight: float = 100.0
    adaptation_threshold: float = 0.1
    baseline_iterations: int = 100


@dataclass(frozen=True, slots=True)
class LossOptions:
    """One term of the objective."""

    type: str
    loss_weight: float


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """How to optimise."""

    total_iter: int
    optim_g: OptimG
    scheduler: Scheduler
    losses: list[LossOptions]
    warmup_iter: int = -1
    ema_decay: float = 0.0
    ema_power: float = 10.0
    grad_clip: bool = False
    amp_growth_interval: int = 2000
    dynamic_loss_scheduling: DynamicLossScheduling = field(default_factory=DynamicLossScheduling)


@dataclass(frozen=True, slots=True)
class Metric:
    """One validation metric."""

    type: str
    crop_border: int = 0
    better: str = "higher"


@dataclass(frozen=True, slots=True)
class ValOptions:
    """When and what to measure."""

    val_enabled: bool
    val_freq: int
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class LoggerOptions:
    """How often to print and to save."""

    print_freq: int
    save_checkpoint_freq: int


@dataclass(frozen=True, slots=True)
class Options:
    """Everything one YAML file says."""

    name: str
    scale: int
    datasets: Datasets
    network_g: NetworkG
    train: TrainOptions
    val: ValOptions
    logger: LoggerOptions
    path: PathOptions = field(default_factory=PathOptions)
    manual_seed: int = 0
    use_amp: bool = False
    amp_bf16: bool = False


def load_options(file: Path) -> Options:
    """Read the YAML `file` into `Options`, or say which key is wrong."""
    with file.open(encoding="utf-8") as stream:
        tree = yaml.safe_load(stream)
    return _build(Options, tree, where="")


def _build(kind: type[T], tree: Any, where: str) -> T:
    if not isinstance(tree, dict):
        raise OptionError(f"{where or 'the file'} must be a mapping, got {tree!r}")
    fields = {item.name: item for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in tree:
        if key not in fields:
            raise OptionError(
                f"unknown option `{_join(where, key)}`; known here: {', '.join(sorted(fields))}"
            )
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, item in fields.items():
        if name in tree:
            values[name] = _convert(hints[name], tree[name], _join(where, name))
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise OptionError(f"missing option `{_join(where, name)}`")
    return kind(**values)


def _convert(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _build(typing.cast(type[Any], kind), value, where)
    origin = typing.get_origin(kind)
    if origin is list and isinstance(value, list):
        (item_kind,) = typing.get_args(kind)
        return [_convert(item_kind, item, f"{where}[{index}]") for index, item in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        item_kind = typing.get_args(kind)[1]
        return {key: _convert(item_kind, item, _join(where, key)) for key, item in value.items()}
    if origin in (Union, types.UnionType):
        return None if value is None else _convert(typing.get_args(kind)[0], value, where)
    if kind is float and type(value) is int:
        return float(value)
    # bool is a subclass of int, so isinstance() would let `lr: true` pass.
    if type(value) is not kind:
        # YAML 1.1 reads 1e-6 without a dot as text, hence the hint.
        hint = "; write !!float in front" if kind is float and isinstance(value, str) else ""
        raise OptionError(f"option `{where}` must be {getattr(kind, '__name__', kind)}, got {value!r}{hint}")
    return value


def _join(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)
