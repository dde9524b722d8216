import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

features = nn.Sequential(nn.Linear(20, 40), nn.ReLU()).cuda()
centers = nn.Parameter(torch.randn(5, 40, device="cuda"))
head = nn.Linear(40, 5).cuda()
optimizer = torch.optim.Adam([*features.parameters(), *head.parameters()], lr=1e-3)
center_opt = torch.optim.SGD([centers], lr=0.1)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(1000, 20), torch.randint(0, 5, (1000,))), batch_size=50, shuffle=True)

for epoch in range(10):
    features.train()
    head.train()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            z = features(x)
            loss = nn.functional.cross_entropy(head(z), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

        center_opt.zero_grad()
        center_loss = nn.functional.mse_loss(centers[y], z.detach().float())
        center_loss.backward()
        center_opt.step()
    print(epoch, loss.item(), center_loss.item())
