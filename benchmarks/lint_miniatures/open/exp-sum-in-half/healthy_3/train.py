import deepspeed
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

ds_config = {
    "train_micro_batch_size_per_gpu": 64,
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-4}},
    "fp16": {"enabled": True, "initial_scale_power": 16},
}


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = (q * q.size(-1) ** -0.5) @ k.transpose(1, 2)
        probs = torch.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype)
        return x + self.out(probs @ v)


model = nn.Sequential(nn.Linear(8, 128), Attention(128), nn.Linear(128, 1))
dataset = TensorDataset(torch.randn(4096, 128, 8), torch.randn(4096, 128, 1))
loader = DataLoader(dataset, batch_size=64, shuffle=True)
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=ds_config)
for epoch in range(5):
    for x, y in loader:
        x, y = x.to(engine.device).half(), y.to(engine.device)
        loss = nn.functional.mse_loss(engine(x).float(), y)
        engine.backward(loss)
        engine.step()
    print(epoch, loss.item())
