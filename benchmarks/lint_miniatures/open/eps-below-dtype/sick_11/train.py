import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MaxAbsScale(nn.Module):
    def forward(self, x):
        peak = x.abs().amax(dim=(2, 3), keepdim=True)
        return x / (peak + 1e-8) #@


net = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), MaxAbsScale(),
    nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), MaxAbsScale(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.cuda.amp.GradScaler()
loader = DataLoader(TensorDataset(torch.rand(4000, 1, 28, 28), torch.randint(0, 10, (4000,))), 64, shuffle=True)
net.train()
for epoch in range(15):
    for x, y in loader:
        opt.zero_grad()
        with torch.cuda.amp.autocast(dtype=torch.float16): #@
            logits = net(x.cuda())
            loss = nn.functional.cross_entropy(logits, y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
