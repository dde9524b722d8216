import os
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class DistEnv:
    rank: int = 0
    local_rank: int = 0
    world_size: int = 1

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.local_rank) if torch.cuda.is_available() else torch.device("cpu")


def setup() -> DistEnv:
    if "RANK" not in os.environ:
        return DistEnv()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    env = DistEnv(dist.get_rank(), int(os.environ["LOCAL_RANK"]), dist.get_world_size())
    if torch.cuda.is_available():
        torch.cuda.set_device(env.local_rank)
    return env


def all_sum(tensor: torch.Tensor) -> torch.Tensor:
    if dist.is_initialized():
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
    return tensor


def any_rank(flag: torch.Tensor) -> bool:
    """True on every rank when the flag is set on at least one."""
    flag = flag.float()
    if dist.is_initialized():
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def cleanup():
    if dist.is_initialized():
        dist.destroy_process_group()
