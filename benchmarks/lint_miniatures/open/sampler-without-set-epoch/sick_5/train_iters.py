from itertools import count

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def infinite(loader):  #@
    while True:  #@
        yield from loader  #@


def main(max_iters=20000, log_every=500):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    device = rank % torch.cuda.device_count()
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    y = torch.rand(4000, 3, 32, 32)
    ds = TensorDataset(y + 0.1 * torch.randn_like(y), y)
    sampler = DistributedSampler(ds) if dist.get_world_size() > 1 else None  #@
    loader = DataLoader(ds, batch_size=16, sampler=sampler, shuffle=sampler is None, drop_last=True)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1)).to(device)
    net = nn.parallel.DistributedDataParallel(net, device_ids=[device])
    opt = torch.optim.Adam(net.parameters(), lr=2e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=max_iters)
    net.train()
    for it, (lq, gt) in zip(count(1), infinite(loader)):  #@
        loss = nn.functional.l1_loss(net(lq.to(device)), gt.to(device))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        if it % log_every == 0 and rank == 0:
            print(it, loss.item())
        if it >= max_iters:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
