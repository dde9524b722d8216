import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def any_rank(flag, device):
    t = torch.tensor(float(flag), device=device)
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.item() > 0


def validate(model, loader, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    with torch.no_grad():
        for x, y in loader:
            logits = model(x.to(device))
            stats[0] += (logits.argmax(1) == y.to(device)).sum()
            stats[1] += len(y)
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def log(rank, *args):
    if rank != 0:
        return
    print(*args, flush=True)


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    local = rank % torch.cuda.device_count()
    torch.cuda.set_device(local)
    device = torch.device("cuda", local)
    torch.manual_seed(0)
    train_set, valid_set = TensorDataset(*torch.load("bci_train.pt")), TensorDataset(*torch.load("bci_val.pt"))
    sampler = DistributedSampler(train_set)
    train = DataLoader(train_set, 64, sampler=sampler)
    valid = DataLoader(valid_set, 128, sampler=DistributedSampler(valid_set, shuffle=False))
    net = nn.Sequential(nn.Flatten(), nn.Linear(64 * 128, 256), nn.ELU(), nn.Linear(256, 4))
    model = DDP(net.to(device), device_ids=[local])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(40):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in train:
            if any_rank(not torch.isfinite(x).all(), device):
                continue
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        acc = validate(model, valid, device)
        log(rank, f"epoch {epoch} acc {acc:.4f}")
        if rank == 0:
            torch.save(model.module.state_dict(), "bci_last.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
