import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def psnr(model, loader):
    model.eval()
    with torch.no_grad():
        mse = torch.stack([nn.functional.mse_loss(model(n).clamp(0, 1), c) for n, c in loader])
    return (-10 * torch.log10(mse)).mean().item()


def main():
    clean = torch.rand(500, 1, 32, 32)
    noisy = clean + 0.1 * torch.randn_like(clean)
    train_dl = DataLoader(TensorDataset(noisy[:400], clean[:400]), batch_size=16, shuffle=True)
    val_dl = DataLoader(TensorDataset(noisy[400:], clean[400:]), batch_size=20)
    net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    best = {"psnr": -1.0, "epoch": -1}
    for epoch in range(30):
        net.train()
        loss_sum = torch.zeros(())
        for n, c in train_dl:
            loss = nn.functional.l1_loss(net(n), c)
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.detach()
        current = psnr(net, val_dl)
        if current > best["psnr"]:
            best = {"psnr": current, "epoch": epoch}
            torch.save({"model": net.state_dict(), **best}, "best.pt")
        print(epoch, loss_sum.item() / len(train_dl), current)


if __name__ == "__main__":
    main()
