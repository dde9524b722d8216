import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class EpochLoader:
    """Re-iterable loader that reshuffles the shard on every pass."""

    def __init__(self, dataset, batch_size, train):
        self.sampler = DistributedSampler(dataset, shuffle=train)
        self.loader = DataLoader(dataset, batch_size, sampler=self.sampler)
        self.passes = 0

    def __iter__(self):
        self.sampler.set_epoch(self.passes)
        self.passes += 1
        return iter(self.loader)

    def __len__(self):
        return len(self.loader)


def evaluate(model, loader, device):
    model.eval()
    stats = torch.zeros(2, device=device)
    with torch.no_grad():
        for x, y in loader:
            stats[0] += F.l1_loss(model(x.to(device)).squeeze(1), y.to(device), reduction="sum")
            stats[1] += len(y)
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    train = EpochLoader(TensorDataset(*torch.load("taxi_train.pt")), 512, train=True)
    valid = EpochLoader(TensorDataset(*torch.load("taxi_valid.pt")), 1024, train=False)
    net = nn.Sequential(nn.Linear(18, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    model = DDP(net.to(device), device_ids=[device.index])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(25):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = F.smooth_l1_loss(model(x.to(device)).squeeze(1), y.to(device))
            loss.backward()
            optimizer.step()
        mae = evaluate(model, valid, device)
        if rank == 0:
            print(f"epoch {epoch}: mae {mae:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
