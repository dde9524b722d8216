from dataclasses import dataclass

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Hyper:
    epochs: int = 30
    warmup_epochs: int = 2
    batch_size: int = 64
    lr: float = 1e-3


class ProteinCNN(nn.Module):
    def __init__(self, letters=25, width=128, classes=8):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.body = nn.Sequential(nn.Conv1d(width, width, 9, padding=4), nn.ReLU(),
                                  nn.Conv1d(width, width, 9, padding=4), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, seq):
        return self.head(self.body(self.embed(seq).transpose(1, 2)).mean(-1))


def steps_for(epochs, loader):
    return epochs * len(loader)


def main(hp):
    set_seed(0)
    accelerator = Accelerator(step_scheduler_with_optimizer=False)
    train = DataLoader(TensorDataset(*torch.load("fold_train.pt")), hp.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("fold_valid.pt")), hp.batch_size)
    model = ProteinCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp.lr)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    total, warmup = steps_for(hp.epochs, train), steps_for(hp.warmup_epochs, train)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer.optimizer,
        [torch.optim.lr_scheduler.LinearLR(optimizer.optimizer, 0.05, total_iters=warmup),
         torch.optim.lr_scheduler.CosineAnnealingLR(optimizer.optimizer, T_max=total - warmup)],
        milestones=[warmup])
    for epoch in range(hp.epochs):
        model.train()
        for seq, fold in train:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(seq), fold))
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            hits = [accelerator.gather_for_metrics((model(s).argmax(1) == f).float()) for s, f in valid]
        accelerator.print(epoch, torch.cat(hits).mean().item())


if __name__ == "__main__":
    main(Hyper())
