import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(22, 88), nn.GELU(), nn.Linear(88, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
loader = DataLoader(
    TensorDataset(torch.randn(2200, 22), torch.randint(0, 2, (2200,))),
    batch_size=22,
    shuffle=True,
)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

for epoch in range(6):
    model.train()
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    accelerator.print(epoch, loss.item())
