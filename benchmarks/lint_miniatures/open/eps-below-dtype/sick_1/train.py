import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPS = 1e-8 #@

net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)).cuda()
head = nn.Conv2d(32, 3, 1).cuda()
params = list(net.parameters()) + list(head.parameters())
optimizer = torch.optim.Adam(params, lr=1e-4)
scaler = torch.cuda.amp.GradScaler()
images = torch.rand(512, 3, 64, 64)
loader = DataLoader(TensorDataset(images, images.mean(1, keepdim=True).expand(-1, 3, -1, -1)), batch_size=16, shuffle=True)

for epoch in range(40):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        with torch.cuda.amp.autocast(): #@
            feat = net(x)
            peak = feat.abs().amax(dim=1, keepdim=True)
            feat = feat / (peak + EPS) #@
            pred = head(feat)
            loss = nn.functional.l1_loss(pred, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
