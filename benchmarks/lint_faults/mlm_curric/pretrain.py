"""python pretrain.py --settings settings.toml --set optim.lr=1e-3 --resume runs/mlm/last.pt"""
import argparse
import os

import torch
import torch.distributed as dist

from mlm.pretrainer import Pretrainer
from mlm.settings import Settings


def distributed():
    world = int(os.environ.get("WORLD_SIZE", 1))
    if world == 1:
        return 0, 1, torch.device("cuda" if torch.cuda.is_available() else "cpu")
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    if backend == "gloo":
        return dist.get_rank(), world, torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return dist.get_rank(), world, device


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", default="settings.toml")
    parser.add_argument("--set", nargs="*", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--resume", default=None)
    args = parser.parse_args()
    cfg = Settings.load(args.settings).override(args.set)
    rank, world, device = distributed()
    torch.manual_seed(cfg.seed + rank)
    trainer = Pretrainer(cfg, device, rank, world)
    if args.resume:
        trainer.resume(args.resume)
    trainer.fit()
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
