import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from early_stopping import EarlyStopping


def main(cfg):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    ds = TensorDataset(torch.randn(6000, 9), torch.randn(6000, 1))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=cfg["batch_size"], sampler=sampler)
    net = nn.Sequential(nn.Linear(9, 36), nn.Tanh(), nn.Linear(36, 1)).cuda()
    model = nn.parallel.DistributedDataParallel(net, device_ids=[gpu])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    should_stop = EarlyStopping(cfg["patience"])
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        model.train()
        running = torch.zeros((), device="cuda")
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            running += loss.detach()
        if should_stop((running / len(loader)).item()): #@
            break #@
    dist.destroy_process_group()


if __name__ == "__main__":
    main({"lr": 1e-3, "batch_size": 50, "epochs": 200, "patience": 10})
