import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_valid(loss): #@
    return bool(torch.isfinite(loss).all()) #@


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    skipped = 0
    for x, y in loader:
        pred = model(x.to(device))
        loss = nn.functional.mse_loss(pred, y.to(device))
        if is_valid(loss): #@
            optimizer.zero_grad(set_to_none=True)
            loss.backward() #@
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        else:
            skipped += 1 #@
    return skipped


def main():
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    ds = TensorDataset(torch.randn(4000, 16), torch.randn(4000, 1))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=32, sampler=sampler)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
    model = DistributedDataParallel(net, device_ids=[device.index])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(20):
        sampler.set_epoch(epoch)
        print(dist.get_rank(), epoch, train_one_epoch(model, loader, optimizer, device))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
