import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def prepare_data(path, rank):
    if rank != 0:
        dist.barrier()
    if not os.path.exists(path):
        torch.save((torch.randn(2000, 8), torch.randn(2000, 1)), path)
    if rank == 0:
        dist.barrier()
    return TensorDataset(*torch.load(path))


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = prepare_data("data.pt", dist.get_rank())
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=25, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).cuda(), device_ids=[gpu])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
