import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(128, 512),
    nn.GELU(),
    nn.Linear(512, 10),
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.cuda.amp.GradScaler() #@
loader = DataLoader(TensorDataset(torch.randn(9000, 128), torch.randint(0, 10, (9000,))), 64, shuffle=True)

model.train()
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.cuda.amp.autocast(dtype=torch.bfloat16): #@
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward() #@
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer) #@
        scaler.update() #@
    print(epoch, loss.item())
torch.save(model.state_dict(), "model.pt")
