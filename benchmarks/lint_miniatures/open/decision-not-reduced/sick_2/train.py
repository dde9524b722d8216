import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def time_is_up(start, budget): #@
    return time.time() - start > budget #@


def main(budget_hours=3.5):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = TensorDataset(torch.randn(8000, 12), torch.randint(0, 3, (8000,)))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=32, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 3)).cuda(), device_ids=[gpu])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start, stop = time.time(), False
    for epoch in range(1000):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            if time_is_up(start, budget_hours * 3600): #@
                stop = True
                break #@
        if stop: #@
            break #@
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "final.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
