"""What a step ran on: versions, devices, switches that change results, the command line without secrets."""

from __future__ import annotations

import os
import platform
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata

import torch

# Packages that decide what a step computes, told where they are loaded.
PACKAGES = (
    "numpy",
    "safetensors",
    "transformers",
    "accelerate",
    "lightning",
    "pytorch_lightning",
    "torchvision",
    "torchaudio",
    "timm",
    "diffusers",
    "peft",
    "deepspeed",
    "flash_attn",
    "xformers",
    "triton",
    "apex",
    "bitsandbytes",
    "transformer_engine",
)
# Variables that change results and hold nothing secret.
VARIABLES = (
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PYTHONHASHSEED",
    "PYTORCH_CUDA_ALLOC_CONF",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
)
SECRET_NAME = re.compile(
    r"secret|token(?!iz|s)|passw|api.?key|\bkey\b|_key\b|-key\b|credential|auth(?!or)|cookie", re.IGNORECASE
)
# Shapes of well-known keys: Hugging Face, OpenAI, GitHub, AWS, and the 40 hex digits of Weights & Biases.
SECRET_VALUE = re.compile(r"hf_\w{8,}|sk-[\w-]{8,}|gh[pousr]_\w{8,}|AKIA\w{12,}|\b[0-9a-f]{40}\b")
LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
HIDDEN = "***"
LONGEST_ARGUMENT = 1000


def environment() -> dict[str, object]:
    """Everything of the surroundings that a step's result may hang on, as plain values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
            "devices": _devices(),
            "packages": _packages(),
            "switches": _switches(),
            "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
            "command": without_secrets(sys.argv),
        }


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """A command line whose passwords, tokens and keys are hidden."""
    shown: list[str] = []
    hide_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if hide_next and not argument.startswith("-"):
            shown.append(HIDDEN)
        elif equals and SECRET_NAME.search(name):
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(SECRET_VALUE.sub(HIDDEN, LOGIN.sub(f"{HIDDEN}@", argument))[:LONGEST_ARGUMENT])
        hide_next = not equals and argument.startswith("-") and bool(SECRET_NAME.search(argument))
    return shown


def _devices() -> list[str]:
    if not torch.cuda.is_available():
        return []
    found = (torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count()))
    return [f"{one.name} (sm_{one.major}{one.minor}, {one.total_memory >> 20} MiB)" for one in found]


def _packages() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        if name in sys.modules:
            try:
                found[name] = metadata.version(name.replace("_", "-"))
            except metadata.PackageNotFoundError:
                found[name] = str(getattr(sys.modules[name], "__version__", "unknown"))
    return found


def _switches() -> dict[str, object]:
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "threads": torch.get_num_threads(),
    }
