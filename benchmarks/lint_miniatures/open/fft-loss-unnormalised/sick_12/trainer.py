import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from losses import FFTLoss


class RestorationModel:
    def __init__(self, opt):
        self.net_g = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GELU(), nn.Conv2d(32, 3, 3, padding=1))
        self.cri_pix = nn.MSELoss()
        self.cri_fft = FFTLoss(**opt["fft_opt"]) #@
        self.optimizer_g = torch.optim.AdamW(self.net_g.parameters(), lr=opt["lr"])

    def optimize_parameters(self, lq, gt):
        self.optimizer_g.zero_grad()
        output = self.net_g(lq)
        l_total = self.cri_pix(output, gt) + self.cri_fft(output, gt) #@
        l_total.backward()
        self.optimizer_g.step()


opt = {"lr": 3e-4, "fft_opt": {"loss_weight": 1.0}} #@
model = RestorationModel(opt)
clean = torch.rand(2000, 3, 128, 128)
model.net_g.train()
for epoch in range(50):
    for (gt,) in DataLoader(TensorDataset(clean), batch_size=16, shuffle=True):
        model.optimize_parameters(gt + 0.1 * torch.randn_like(gt), gt)
