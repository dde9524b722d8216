import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def build_loaders(batch_size):
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(6000, 16, generator=g), torch.randint(0, 4, (6000,), generator=g)
    train, val = TensorDataset(x[:5000], y[:5000]), TensorDataset(x[5000:], y[5000:])
    sampler = DistributedSampler(train, drop_last=True)  #@
    val_sampler = DistributedSampler(val, shuffle=False)
    return (DataLoader(train, batch_size, sampler=sampler, drop_last=True), sampler,
            DataLoader(val, batch_size, sampler=val_sampler))
