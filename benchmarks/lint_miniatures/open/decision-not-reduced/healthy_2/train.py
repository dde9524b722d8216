import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def out_of_time(start, budget):
    flag = torch.tensor(float(time.time() - start > budget), device="cuda")
    dist.broadcast(flag, src=0)
    return bool(flag.item())


def main(budget=3600.0):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = TensorDataset(torch.randn(4000, 10), torch.randint(0, 4, (4000,)))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=20, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 4)).cuda(), device_ids=[gpu])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start = time.time()
    for epoch in range(500):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
        if out_of_time(start, budget):
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
