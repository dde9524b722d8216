import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
loader = DataLoader(TensorDataset(torch.randn(6400, 2)), batch_size=64, shuffle=True)
clip_value, n_critic = 0.01, 5

for epoch in range(30):
    gen.train()
    critic.train()
    for i, (real,) in enumerate(loader):
        opt_c.zero_grad()
        fake = gen(torch.randn(real.size(0), 4)).detach()
        c_loss = critic(fake).mean() - critic(real).mean()
        c_loss.backward()
        opt_c.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-clip_value, clip_value)
        if i % n_critic == 0:
            opt_g.zero_grad()
            g_loss = -critic(gen(torch.randn(real.size(0), 4))).mean()
            g_loss.backward()
            opt_g.step()
    print(epoch, c_loss.item(), g_loss.item())
