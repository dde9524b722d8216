import contextlib
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def init_distributed():
    world = int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        cuda = torch.cuda.is_available()
        if cuda:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if cuda else "gloo")
        return dist.get_rank(), world
    return 0, 1


def apply_fsdp(model, param_dtype):
    """Shards each block; weights are kept in float32 and gathered in `param_dtype`."""
    policy = MixedPrecisionPolicy(param_dtype=param_dtype, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


def maybe_autocast(device, param_dtype, sharded):
    """FSDP does the casting by its policy; one device alone needs autocast."""
    if sharded or device.type != "cuda":
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=param_dtype)


def reduced(value, device, op=dist.ReduceOp.SUM):
    """A number of all ranks together, still on the device."""
    tensor = torch.as_tensor(value, dtype=torch.float32, device=device).clone()
    if dist.is_initialized():
        dist.all_reduce(tensor, op=op)
    return tensor
