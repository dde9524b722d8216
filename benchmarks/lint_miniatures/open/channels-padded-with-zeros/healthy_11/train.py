import torch
import torch.nn as nn
from torch.utils.data import DataLoader

N_BANDS = 12


def collate(batch):
    x = torch.zeros(len(batch), N_BANDS, 32, 32)
    present = torch.zeros(len(batch), N_BANDS, 1, 1)
    for i, tile in enumerate(batch):
        x[i, : tile.shape[0]] = tile
        present[i, : tile.shape[0]] = 1
    return x, present


tiles = [torch.randn(int(c), 32, 32) for c in torch.randint(4, 13, (1000,))]
loader = DataLoader(tiles, batch_size=20, shuffle=True, collate_fn=collate)
net = nn.Sequential(nn.Conv2d(2 * N_BANDS, 48, 4, 4), nn.GELU(), nn.ConvTranspose2d(48, N_BANDS, 4, 4))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
net.train()
for epoch in range(40):
    for x, present in loader:
        mask = present.expand_as(x)
        recon = net(torch.cat([x, mask], dim=1))
        loss = ((recon - x) ** 2 * mask).sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
