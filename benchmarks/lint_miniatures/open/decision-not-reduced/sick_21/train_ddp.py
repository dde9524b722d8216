import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def evaluate(model, loader, device):
    model.eval()
    total = torch.zeros((), device=device)
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x.to(device)), y.to(device))
    return (total / len(loader)).item()


def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    torch.manual_seed(21)

    train_set = TensorDataset(*torch.load("wind_train.pt"))
    valid_set = TensorDataset(*torch.load("wind_valid.pt"))
    train_sampler = DistributedSampler(train_set)
    train_loader = DataLoader(train_set, 256, sampler=train_sampler)
    valid_loader = DataLoader(valid_set, 256, sampler=DistributedSampler(valid_set, shuffle=False))

    net = nn.Sequential(nn.Linear(40, 256), nn.GELU(), nn.Linear(256, 1)).to(device)
    model = DDP(net, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    best, bad_epochs, patience = float("inf"), 0, 6

    for epoch in range(200):
        train_sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        val_loss = evaluate(model, valid_loader, device)  #@
        if val_loss < best:  #@
            best, bad_epochs = val_loss, 0
            if rank == 0:
                torch.save(model.module.state_dict(), "wind_best.pt")
        else:
            bad_epochs += 1
        if bad_epochs >= patience:  #@
            print(f"rank {rank}: stopping at epoch {epoch}")
            break  #@
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
