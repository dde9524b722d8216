import os

import torch
import torch.distributed as dist
from torch.distributed.nn.functional import all_gather as gather_with_grad


def setup():
    """Returns rank, world size and device; a plain `python main.py` is one rank."""
    cuda = torch.cuda.is_available()
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if cuda else "gloo")
        local = int(os.environ["LOCAL_RANK"])
        if cuda:
            torch.cuda.set_device(local)
        return dist.get_rank(), dist.get_world_size(), torch.device("cuda", local) if cuda else torch.device("cpu")
    return 0, 1, torch.device("cuda" if cuda else "cpu")


def active():
    return dist.is_available() and dist.is_initialized()


def is_main():
    return not active() or dist.get_rank() == 0


def total(tensor):
    """The sum over all ranks."""
    if active():
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    return tensor


def everyones(x):
    """The rows of all ranks, with gradients; and where our own begin."""
    if not active():
        return x, 0
    return torch.cat(gather_with_grad(x)), dist.get_rank() * len(x)


def barrier():
    if active():
        dist.barrier()
