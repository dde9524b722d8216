import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def start_epoch(loader, epoch):
    sampler = loader.sampler
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)


def main():
    distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(rank)
    if distributed:
        dist.init_process_group("nccl")
    data = TensorDataset(torch.randn(4096, 32), torch.randint(0, 8, (4096,)))
    sampler = DistributedSampler(data) if distributed else None
    loader = DataLoader(data, batch_size=64, sampler=sampler, shuffle=sampler is None)
    model = nn.Linear(32, 8).cuda()
    if distributed:
        model = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model.train()
    for epoch in range(12):
        start_epoch(loader, epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
    if distributed:
        dist.destroy_process_group()


main()
