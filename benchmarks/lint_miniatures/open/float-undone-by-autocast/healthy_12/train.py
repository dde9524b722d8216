import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(100, 512), nn.GELU(), nn.Linear(512, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
ages = torch.randint(18, 90, (5000, 1))
loader = DataLoader(TensorDataset(torch.randn(5000, 100), ages), batch_size=64, shuffle=True)


def gaussian_nll(pred, target, log_var):
    return 0.5 * ((pred - target) ** 2 * torch.exp(-log_var) + log_var).mean()


log_var = nn.Parameter(torch.zeros((), device="cuda"))
optimizer.add_param_group({"params": [log_var]})
model.train()
for epoch in range(20):
    for x, age in loader:
        target = (age.float().cuda() - 54) / 21
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            pred = model(x.cuda())
            loss = gaussian_nll(pred.float(), target, log_var)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
