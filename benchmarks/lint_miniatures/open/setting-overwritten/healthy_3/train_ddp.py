import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--global-batch", type=int, default=256)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--epochs", type=int, default=30)
    args = p.parse_args()
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    args.batch_size = args.global_batch // dist.get_world_size()
    args.lr = args.lr * args.global_batch / 256
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(8192, 32), torch.randint(0, 10, (8192,)))
    sampler = DistributedSampler(ds, shuffle=True)
    loader = DataLoader(ds, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)).to(gpu)
    net = nn.parallel.DistributedDataParallel(net, device_ids=[gpu])
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    net.train()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(net(x.to(gpu)), y.to(gpu)).backward()
            opt.step()
    if dist.get_rank() == 0:
        torch.save(net.module.state_dict(), "final.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
