import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AdversarialTrainer:
    def __init__(self, encoder, probe):
        self.encoder, self.probe = encoder.cuda(), probe.cuda()
        self.opt = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.probe_opt = torch.optim.SGD(self.probe.parameters(), lr=1e-2)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, x, y):
        self.opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            z = self.encoder(x)
            recon = nn.functional.mse_loss(z, x)
        self.scaler.scale(recon).backward()
        self.scaler.step(self.opt)
        self.scaler.update()

        self.probe_opt.zero_grad()
        probe_loss = nn.functional.cross_entropy(self.probe(z.detach().float()), y)
        probe_loss.backward()
        self.probe_opt.step()
        return recon.detach(), probe_loss.detach()


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(2000, 18), torch.randint(0, 2, (2000,)))
    trainer = AdversarialTrainer(nn.Sequential(nn.Linear(18, 36), nn.ReLU(), nn.Linear(36, 18)), nn.Linear(18, 2))
    loader = DataLoader(ds, batch_size=50, shuffle=True)
    for epoch in range(5):
        trainer.encoder.train()
        trainer.probe.train()
        for x, y in loader:
            recon, probe = trainer.step(x.cuda(), y.cuda())
        print(epoch, recon.item(), probe.item())
