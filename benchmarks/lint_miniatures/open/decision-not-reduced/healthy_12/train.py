import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

started, limit = time.monotonic(), 3 * 3600
dist.init_process_group("nccl")
gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
data = TensorDataset(torch.randn(50000, 128), torch.randint(0, 100, (50000,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=64, sampler=sampler)
model = DistributedDataParallel(nn.Linear(128, 100).cuda(), device_ids=[gpu])
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
flag = torch.zeros((), device="cuda")
model.train()
for epoch in range(1000):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
    flag.fill_(float(time.monotonic() - started > limit))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    if flag.item() > 0:
        break
if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), "final.pt")
dist.destroy_process_group()
