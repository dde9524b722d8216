import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train_epoch(model, loader, optimizer, epoch, device):
    if isinstance(loader.sampler, DistributedSampler):
        loader.sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()


def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    g = torch.Generator().manual_seed(0)
    dataset = TensorDataset(torch.randn(10000, 32, generator=g), torch.randint(0, 10, (10000,), generator=g))
    loader = DataLoader(dataset, batch_size=64, sampler=DistributedSampler(dataset), num_workers=2)
    model = DDP(nn.Linear(32, 10).to(local_rank), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(20):
        train_epoch(model, loader, optimizer, epoch, local_rank)
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "last.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
