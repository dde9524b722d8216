import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from engine import LossGuard


def build(rank):
    torch.manual_seed(4)
    net = nn.Sequential(nn.Embedding(5000, 64), nn.Flatten(), nn.Linear(64 * 32, 5))
    return DistributedDataParallel(net.cuda(rank), device_ids=[rank])


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank() % torch.cuda.device_count()
    torch.cuda.set_device(rank)
    model = build(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    guard = LossGuard(optimizer)
    data = TensorDataset(*torch.load("reviews.pt"))
    sampler = DistributedSampler(data, seed=4)
    loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        model.train()
        for i, (ids, stars) in enumerate(loader):
            loss = F.cross_entropy(model(ids.cuda(rank)), stars.cuda(rank))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if i % 50 == 0 and guard(loss):  #@
                print(f"rank {rank} lr -> {optimizer.param_groups[0]['lr']:.2e}")
        if rank == 0:
            torch.save(model.module.state_dict(), f"stars_{epoch}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
