import os

import torch
import torch.distributed as dist


def init_distributed():
    if "RANK" not in os.environ:
        return 0, 1, torch.device("cuda" if torch.cuda.is_available() else "cpu")
    local = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(local)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return dist.get_rank(), dist.get_world_size(), torch.device(f"cuda:{local}" if torch.cuda.is_available() else "cpu")


def is_dist():
    return dist.is_available() and dist.is_initialized()


def reduce_mean(t):
    """Mean over ranks; the tensor itself where there is one process only."""
    if not is_dist():
        return t
    t = t.clone()
    dist.all_reduce(t)
    return t / dist.get_world_size()


@torch.no_grad()
def concat_all_gather(t):
    if not is_dist():
        return t
    out = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(out, t.contiguous())
    return torch.cat(out)


def unwrap(m):
    return m.module if hasattr(m, "module") else m
