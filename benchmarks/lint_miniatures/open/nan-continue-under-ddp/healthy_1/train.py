import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def any_rank_bad(loss):
    bad = (~torch.isfinite(loss.detach())).float()
    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
    return bad.item() > 0


dist.init_process_group("nccl")
torch.manual_seed(0)
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dataset = TensorDataset(torch.randn(4000, 20), torch.randint(0, 5, (4000,)))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=50, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 5)).cuda(), device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(10):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        if any_rank_bad(loss):
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
dist.destroy_process_group()
