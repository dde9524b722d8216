import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from engine import EMAOptimizer, optimizer_step

model = nn.Sequential(nn.Linear(12, 60), nn.ReLU(), nn.Linear(60, 3)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ema = EMAOptimizer(optimizer, model.parameters())
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(3000, 12), torch.randint(0, 3, (3000,))), batch_size=60, shuffle=True)

for epoch in range(10):
    model.train()
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        optimizer_step(optimizer, scaler, model.parameters()) #@
        ema.step() #@
    print(epoch, loss.item())
torch.save({"model": model.state_dict(), "ema": ema.shadow}, "last.pt")
