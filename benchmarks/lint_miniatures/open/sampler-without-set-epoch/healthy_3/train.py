import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def main(iters=5000):
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    x = torch.randn(4400, 16, generator=torch.Generator().manual_seed(3))
    y = x.square().sum(1, keepdim=True)
    train, val = TensorDataset(x[:4000], y[:4000]), TensorDataset(x[4000:], y[4000:])
    sampler = DistributedSampler(train)
    val_sampler = DistributedSampler(val, shuffle=False)
    stream = endless(DataLoader(train, 32, sampler=sampler), sampler)
    val_dl = DataLoader(val, 100, sampler=val_sampler)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(gpu)
    net = nn.parallel.DistributedDataParallel(net, device_ids=[gpu])
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for it in range(1, iters + 1):
        xb, yb = next(stream)
        opt.zero_grad()
        nn.functional.mse_loss(net(xb.to(gpu)), yb.to(gpu)).backward()
        opt.step()
        if it % 1000 == 0:
            net.eval()
            with torch.no_grad():
                err = torch.stack([nn.functional.mse_loss(net(a.to(gpu)), b.to(gpu)) for a, b in val_dl]).mean()
            dist.all_reduce(err)
            net.train()
            if dist.get_rank() == 0:
                print(it, err.item() / dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
