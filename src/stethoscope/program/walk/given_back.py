"""The calls that give back what they were given: moves between devices, casts, modes and wrappers."""

from __future__ import annotations

from stethoscope.program.walk.values import Applied, Value

# Methods that give their object.
UNCHANGED = frozenset(
    {
        "to",
        "cuda",
        "cpu",
        "half",
        "bfloat16",
        "float",
        "double",
        "type",
        "xpu",
        "to_empty",
        "train",
        "eval",
        "requires_grad_",
        "apply",
        "share_memory",
        "compile",
    }
)
# Functions and classes that give their first argument.
WRAPPERS = (
    "torch.compile",
    "torch.jit.script",
    "torch.jit.trace",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.nn.utils.spectral_norm",
    "torch.nn.utils.weight_norm",
    "torch.nn.utils.parametrizations.spectral_norm",
    "torch.nn.utils.parametrizations.weight_norm",
    "torch.nn.utils.parametrizations.orthogonal",
    "copy.deepcopy",
    "copy.copy",
    "torch.nn.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.ModuleList",
    "torch.nn.ModuleDict",
    "torch.nn.ParameterList",
    "torch.nn.ParameterDict",
    "collections.OrderedDict",
    "typing.cast",
    "torch.autograd.Variable",
    "torch.nn.Parameter",
    "staticmethod",
)
# Methods that give their object as a tensor with the same content.
MOVES = frozenset(
    {".to", ".cuda", ".cpu", ".contiguous", ".pin_memory", ".clone", ".detach", ".float", ".long"}
)
FABRIC_SETUPS = frozenset(
    {"setup", "setup_module", "setup_optimizers", "setup_dataloaders", "to_device", "mark_forward_method"}
)


def moved(value: Value) -> Value:
    """What was moved or cast, without the moves."""
    while isinstance(value, Applied) and value.callee in MOVES and value.args:
        value = value.args[0]
    return value
