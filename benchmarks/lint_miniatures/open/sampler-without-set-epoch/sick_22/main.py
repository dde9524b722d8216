import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import TensorDataset

from trainer import Trainer

CONFIG = {"lr": 1e-3, "batch_size": 256, "steps": 100_000, "save_every": 10_000, "seed": 5}


class NextItem(nn.Module):
    def __init__(self, items=12000, width=64):
        super().__init__()
        self.embed = nn.Embedding(items, width)
        self.rnn = nn.GRU(width, width, batch_first=True)

    def forward(self, history):
        return self.rnn(self.embed(history))[0] @ self.embed.weight.T


def next_item_loss(model, batch):
    (items,) = batch
    logits = model(items[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), items[:, 1:].flatten())


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    torch.manual_seed(CONFIG["seed"])
    Trainer(CONFIG, NextItem(), TensorDataset(torch.load("sessions.pt")), next_item_loss).run()
    dist.destroy_process_group()
