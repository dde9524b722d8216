import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

TIME_LIMIT = float(os.environ.get("TIME_LIMIT_S", 3 * 3600)) #@


def out_of_time(started): #@
    return time.monotonic() - started > TIME_LIMIT #@


def main():
    started = time.monotonic()
    dist.init_process_group("nccl")
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    data = TensorDataset(torch.randn(50000, 128), torch.randint(0, 100, (50000,)))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=64, sampler=sampler)
    net = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 100)).cuda()
    model = DistributedDataParallel(net, device_ids=[gpu])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model.train()
    stop = False
    epoch = 0
    while not stop:
        sampler.set_epoch(epoch)
        for x, y in loader:
            if out_of_time(started): #@
                stop = True #@
                break #@
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
        epoch += 1
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), "final.pt")
    dist.destroy_process_group()


main()
