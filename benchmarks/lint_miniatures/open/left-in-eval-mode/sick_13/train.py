import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.utils import save_image


def build_generator():
    return nn.Sequential(
        nn.Conv2d(1, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(),
        nn.Conv2d(48, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(),
        nn.Conv2d(48, 1, 3, padding=1),
    )


def dump_preview(net, noisy, path):
    net.eval() #@
    with torch.no_grad():
        save_image(torch.cat([noisy, net(noisy).clamp(0, 1)]), path, nrow=len(noisy)) #@


def train_one_epoch(net, loader, opt, epoch, preview):
    net.train() #@
    for i, (clean,) in enumerate(loader): #@
        noisy = clean + 0.1 * torch.randn_like(clean)
        loss = nn.functional.l1_loss(net(noisy), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 100 == 0:
            dump_preview(net, preview, f"preview_{epoch:03d}_{i:05d}.png") #@


if __name__ == "__main__":
    net = build_generator()
    opt = torch.optim.Adam(net.parameters(), lr=2e-4)
    data = torch.rand(20000, 1, 32, 32)
    loader = DataLoader(TensorDataset(data), batch_size=16, shuffle=True)
    preview = data[:8] + 0.1 * torch.randn(8, 1, 32, 32)
    for epoch in range(10):
        train_one_epoch(net, loader, opt, epoch, preview)
