"""python run.py            one process
torchrun --nproc_per_node=2 run.py
"""
import argparse
import os

import torch
import torch.distributed as dist

from pretrain.loop import Pretrainer


def get_parser():
    p = argparse.ArgumentParser()
    for name, default in [("vocab", 48), ("dim", 32), ("layers", 2), ("heads", 2), ("seq_len", 16)]:
        p.add_argument(f"--{name}", type=int, default=default)
    p.add_argument("--micro_batch", type=int, default=4)
    p.add_argument("--accumulation", type=int, default=2)
    p.add_argument("--max_steps", type=int, default=6)
    p.add_argument("--warmup_steps", type=int, default=2)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight_decay", type=float, default=0.1)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--eval_every", type=int, default=3)
    p.add_argument("--eval_batches", type=int, default=2)
    p.add_argument("--log_every", type=int, default=2)
    p.add_argument("--patience", type=int, default=3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--resume", default="")
    p.add_argument("--out", default="llm_out")
    return p


def main():
    cfg = get_parser().parse_args()
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if world_size > 1:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(cfg.seed)
    Pretrainer(cfg, rank, world_size, device).fit()
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
