import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

use_bf16 = torch.cuda.is_bf16_supported()
model = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = None if use_bf16 else torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(9000, 128), torch.randint(0, 10, (9000,))), 64, shuffle=True)

model.train()
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16 if use_bf16 else torch.float16):
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    print(epoch, loss.item())
torch.save(model.state_dict(), "model.pt")
