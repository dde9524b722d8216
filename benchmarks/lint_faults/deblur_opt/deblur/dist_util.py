import functools
import os

import torch
import torch.distributed as dist


def init_dist():
    """(rank, world size) of a torchrun job, or of a plain run."""
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend)
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def is_dist():
    return dist.is_available() and dist.is_initialized()


def master_only(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        if not is_dist() or dist.get_rank() == 0:
            return func(*args, **kwargs)
        return None

    return wrapper


def sum_over_ranks(tensor):
    if is_dist():
        dist.all_reduce(tensor)
    return tensor
