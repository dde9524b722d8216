"""torchrun --nproc_per_node 8 train.py --config config.yaml [--resume runs/derain/last.pt]"""
import argparse
import os

import torch
import torch.distributed as dist

from derain.config import Config
from derain.trainer import Trainer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--resume")
    args = parser.parse_args()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.manual_seed(100 + rank)
    trainer = Trainer(Config.load(args.config), device, rank, world)
    if args.resume:
        trainer.load(args.resume)
    trainer.fit()
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
