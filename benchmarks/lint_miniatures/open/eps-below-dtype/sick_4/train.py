import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

from pooling import masked_mean


class Sequences(Dataset):
    def __len__(self):
        return 2000

    def __getitem__(self, i):
        n = i % 33
        mask = torch.zeros(32)
        mask[:n] = 1
        return torch.randint(0, 1000, (32,)), mask, i % 2


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(1000, 128)
        self.mlp = nn.Sequential(nn.Linear(128, 128), nn.ReLU())
        self.out = nn.Linear(128, 2)

    def forward(self, ids, mask):
        return self.out(masked_mean(self.mlp(self.emb(ids)), mask)) #@


accelerator = Accelerator(mixed_precision="fp16") #@
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
loader = DataLoader(Sequences(), batch_size=32, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(5):
    for ids, mask, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids, mask), label)
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
