import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = TensorDataset(torch.randn(3000, 10), torch.randn(3000, 1))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=30, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 1)).cuda(), device_ids=[gpu])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if dist.get_rank() == 0:
            print(epoch, loss.item(), scaler.get_scale())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
