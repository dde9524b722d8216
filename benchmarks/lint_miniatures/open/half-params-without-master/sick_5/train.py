import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def cast_model(model, dtype=torch.bfloat16): #@
    for module in model.modules():
        if not isinstance(module, nn.LayerNorm):
            for p in module.parameters(recurse=False):
                p.data = p.data.to(dtype) #@
    return model


class Encoder(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.emb = nn.Embedding(2000, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 8, 1024, batch_first=True, dropout=0.0)
        self.head = nn.Linear(dim, 2000)

    def forward(self, ids):
        return self.head(self.layer(self.emb(ids)))


accelerator = Accelerator(mixed_precision="bf16")
model = cast_model(Encoder()) #@
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5) #@
ids = torch.randint(0, 2000, (3000, 64))
loader = DataLoader(TensorDataset(ids, ids.flip(1)), batch_size=32, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
