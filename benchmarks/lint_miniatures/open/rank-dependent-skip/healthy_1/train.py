import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("nccl")
torch.manual_seed(0)
rank, gpu = dist.get_rank(), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
ds = TensorDataset(torch.randn(4000, 10), torch.randint(0, 2, (4000,)))
sampler = DistributedSampler(ds)
loader = DataLoader(ds, batch_size=40, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(10, 30), nn.ReLU(), nn.Linear(30, 2)).cuda(), device_ids=[gpu])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(10):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    if rank == 0:
        print(epoch, mean.item())
        torch.save(model.module.state_dict(), "last.pt")
    dist.barrier()
dist.destroy_process_group()
