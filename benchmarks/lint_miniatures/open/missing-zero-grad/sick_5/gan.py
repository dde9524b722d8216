import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
nz = 16
G = nn.Sequential(nn.Linear(nz, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(device)
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()

loader = DataLoader(TensorDataset(torch.randn(5000, 2) + 3), batch_size=128, shuffle=True)

for epoch in range(50):
    for i, (real,) in enumerate(loader):
        real = real.to(device)
        z = torch.randn(real.size(0), nz, device=device)
        fake = G(z)

        d_real, d_fake = D(real), D(fake.detach())
        d_loss = bce(d_real, torch.ones_like(d_real)) + bce(d_fake, torch.zeros_like(d_fake))
        d_loss.backward() #@
        opt_d.step() #@

        opt_g.zero_grad()
        out = D(fake)
        g_loss = bce(out, torch.ones_like(out))
        g_loss.backward()
        opt_g.step()
    print(f"[{epoch}] d {d_loss.item():.3f} g {g_loss.item():.3f}")
