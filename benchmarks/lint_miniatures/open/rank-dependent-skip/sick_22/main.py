import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from trainer import DistributedTrainer


def autoencode(model, batch):
    return F.mse_loss(model(batch[0]), batch[0])


if __name__ == "__main__":
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    torch.manual_seed(0)
    train_set = TensorDataset(torch.load("genes_train.pt"))
    valid_set = TensorDataset(torch.load("genes_valid.pt"))
    sampler = DistributedSampler(train_set)
    valid_sampler = DistributedSampler(valid_set, shuffle=False)
    net = nn.Sequential(nn.Linear(2000, 256), nn.ReLU(), nn.Linear(256, 32), nn.Linear(32, 2000))
    trainer = DistributedTrainer(net, autoencode, 1e-3, local_rank)
    trainer.fit(DataLoader(train_set, 128, sampler=sampler), sampler,
                DataLoader(valid_set, 256, sampler=valid_sampler), epochs=30)
    dist.destroy_process_group()
