import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--max-steps", type=int, default=1000)
    ap.add_argument("--skip-first", type=int, default=10)
    args = ap.parse_args()
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    rank, gpu = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = TensorDataset(torch.randn(20000, 10), torch.randn(20000, 1))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=20, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 30), nn.ReLU(), nn.Linear(30, 1)).cuda(), [gpu])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    sampler.set_epoch(0)
    for step, (x, y) in enumerate(loader):
        if step >= args.max_steps:
            break
        if step < args.skip_first * rank: #@
            continue #@
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward() #@
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
