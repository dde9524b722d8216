import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1000)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
dataset = TensorDataset(torch.randn(8000, 256), torch.randint(0, 1000, (8000,)))
loader = DataLoader(dataset, batch_size=128, shuffle=True)


def nll(logits, target):
    picked = logits.gather(1, target[:, None]).squeeze(1)
    denom = logits.clone().exp_().sum(dim=1, dtype=logits.dtype) #@
    return (denom.log() - picked).mean() #@


model.train()
for epoch in range(10):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16): #@
            loss = nll(model(x), y) #@
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(f"{epoch}: {loss.item():.4f}")
