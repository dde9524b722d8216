import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
gen = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)
disc = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(device)
opt_g = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(disc.parameters(), lr=2e-4, betas=(0.5, 0.99))
loader = DataLoader(TensorDataset(torch.randn(3000, 2)), batch_size=100, shuffle=True)
softplus = nn.functional.softplus

for epoch in range(20):
    gen.train()
    disc.train()
    for (real,) in loader:
        real = real.to(device)
        fake = gen(torch.randn(real.size(0), 8, device=device))

        opt_g.zero_grad()
        g_loss = softplus(-disc(fake)).mean()
        g_loss.backward()
        opt_d.zero_grad()
        opt_g.step()

        d_loss = softplus(-disc(real)).mean() + softplus(disc(fake.detach())).mean()
        d_loss.backward()
        opt_d.step()
    print(epoch, g_loss.item(), d_loss.item())
