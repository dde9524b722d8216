import deepspeed
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ds_config = {
    "train_micro_batch_size_per_gpu": 64,
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-4}},
    "fp16": {"enabled": True, "initial_scale_power": 16}, #@
}


class LinearAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = torch.exp(q), torch.exp(k) #@
        context = k.transpose(1, 2) @ v
        norm = (q * k.sum(dim=1, keepdim=True)).sum(dim=-1, keepdim=True) #@
        return x + self.out((q @ context) / norm)


class Model(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.inp, self.attn, self.head = nn.Linear(8, dim), LinearAttention(dim), nn.Linear(dim, 1) #@

    def forward(self, x):
        return self.head(self.attn(self.inp(x)))


model = Model()
dataset = TensorDataset(torch.randn(4096, 512, 8), torch.randn(4096, 512, 1))
loader = DataLoader(dataset, batch_size=64, shuffle=True)
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=ds_config) #@
for epoch in range(5):
    for x, y in loader:
        x, y = x.to(engine.device).half(), y.to(engine.device)
        loss = nn.functional.mse_loss(engine(x).float(), y)
        engine.backward(loss)
        engine.step()
    print(epoch, loss.item())
