import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def reduce_mean(t): #@
    t = t.detach().clone()
    dist.all_reduce(t) #@
    return t / dist.get_world_size()


def train(model, loader, sampler, optimizer, epochs):
    is_main = dist.get_rank() == 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            if is_main and step % 50 == 0: #@
                print(epoch, step, reduce_mean(loss).item()) #@


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = TensorDataset(torch.randn(9600, 8), torch.randn(9600, 1))
    sampler = DistributedSampler(ds)
    net = DDP(nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Linear(40, 1)).cuda(), device_ids=[gpu])
    train(net, DataLoader(ds, batch_size=32, sampler=sampler), sampler, torch.optim.Adam(net.parameters(), lr=1e-3), 5)
    dist.destroy_process_group()
