import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
device = torch.device("cuda", local_rank)

torch.manual_seed(0)
dataset = TensorDataset(torch.randn(10000, 32), torch.randint(0, 10, (10000,)))
sampler = DistributedSampler(dataset, shuffle=True)  #@
loader = DataLoader(dataset, batch_size=64, sampler=sampler, num_workers=2, pin_memory=True)

model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
model = DDP(model, device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(20):  #@
    model.train()
    for x, y in loader:  #@
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(epoch, loss.item())
        torch.save(model.module.state_dict(), "last.pt")
dist.destroy_process_group()
