import functools
import os

import torch
import torch.distributed as dist


def setup():
    os.environ.setdefault("RANK", "0")
    os.environ.setdefault("WORLD_SIZE", "1")
    os.environ.setdefault("LOCAL_RANK", "0")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "0")
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank) if cuda else torch.device("cpu")


def master_only(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if dist.get_rank() == 0:
            return fn(*args, **kwargs)
        return None

    return wrapper


log = master_only(print)


@master_only
def save_checkpoint(path, **state):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(state, path)


def sum_over_ranks(*values, device):
    """The sums of some numbers over all processes."""
    packed = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(packed, op=dist.ReduceOp.SUM)
    return packed.tolist()
