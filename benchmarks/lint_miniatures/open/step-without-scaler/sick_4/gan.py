import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

dev = torch.device("cuda")
netG = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 32)).to(dev)
netD = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1)).to(dev)
optG = torch.optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.999))
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(8000, 32)), batch_size=200, shuffle=True)
bce = nn.functional.binary_cross_entropy_with_logits

for epoch in range(25):
    netG.train()
    netD.train()
    for (real,) in loader:
        real = real.to(dev)
        optD.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            fake = netG(torch.randn(real.size(0), 16, device=dev))
            pr, pf = netD(real), netD(fake.detach())
            lossD = bce(pr, torch.ones_like(pr)) + bce(pf, torch.zeros_like(pf))
        scaler.scale(lossD).backward()
        scaler.step(optD)

        optG.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            pf = netD(fake)
            lossG = bce(pf, torch.ones_like(pf))
        scaler.scale(lossG).backward() #@
        optG.step() #@
        scaler.update()
    print(epoch, lossD.item(), lossG.item())
