from __future__ import print_function

import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data

parser = argparse.ArgumentParser()
parser.add_argument("--batchSize", type=int, default=16)
parser.add_argument("--imageSize", type=int, default=16)
parser.add_argument("--nz", type=int, default=16, help="size of the latent z vector")
parser.add_argument("--ngf", type=int, default=8)
parser.add_argument("--ndf", type=int, default=8)
parser.add_argument("--niter", type=int, default=2)
parser.add_argument("--lr", type=float, default=0.0002)
parser.add_argument("--beta1", type=float, default=0.5)
parser.add_argument("--manualSeed", type=int, default=999)
parser.add_argument("--logEvery", type=int, default=4)
opt = parser.parse_args()
print(opt)

random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Rings(torch.utils.data.Dataset):
    def __init__(self, n, size):
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
        radius = (xs**2 + ys**2).sqrt()
        self.images = torch.stack([(radius - r).abs().lt(0.15).float() for r in torch.linspace(0.2, 0.9, n)])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i][None] * 2 - 1


dataloader = torch.utils.data.DataLoader(Rings(96, opt.imageSize), batch_size=opt.batchSize, shuffle=True,
                                         drop_last=True)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        torch.nn.init.normal_(m.weight, 1.0, 0.02)
        torch.nn.init.zeros_(m.bias)


netG = nn.Sequential(
    nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, bias=False),
    nn.BatchNorm2d(opt.ngf * 2),
    nn.ReLU(True),
    nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, bias=False),
    nn.BatchNorm2d(opt.ngf),
    nn.ReLU(True),
    nn.ConvTranspose2d(opt.ngf, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
).to(device)
netG.apply(weights_init)

netD = nn.Sequential(
    nn.Conv2d(1, opt.ndf, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf, opt.ndf * 2, 4, 2, 1, bias=False),
    nn.BatchNorm2d(opt.ndf * 2),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(opt.ndf * 2, 1, 4, 1, 0, bias=False),
    nn.Flatten(0),
).to(device)
netD.apply(weights_init)

criterion = nn.BCEWithLogitsLoss()
fixed_noise = torch.randn(opt.batchSize, opt.nz, 1, 1, device=device)

optimizerD = optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))

G_losses = []
D_losses = []
for epoch in range(opt.niter):
    for i, real in enumerate(dataloader, 0):
        # (1) update D: maximise log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        real = real.to(device)
        output = netD(real)
        errD_real = criterion(output, torch.ones_like(output))
        errD_real.backward()

        noise = torch.randn(real.size(0), opt.nz, 1, 1, device=device)
        fake = netG(noise)
        output = netD(fake.detach())
        errD_fake = criterion(output, torch.zeros_like(output))
        errD_fake.backward()
        optimizerD.step()

        # (2) update G: maximise log(D(G(z)))
        netG.zero_grad()
        output = netD(fake)
        errG = criterion(output, torch.ones_like(output))
        errG.backward()
        optimizerG.step()

        G_losses.append(errG.detach())
        D_losses.append((errD_real + errD_fake).detach())
        if i % opt.logEvery == 0:
            print("[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f" % (
                epoch, opt.niter, i, len(dataloader), D_losses[-1].item(), errG.item()))

netG.eval()
with torch.no_grad():
    samples = netG(fixed_noise)
torch.save({"netG": netG.state_dict(), "samples": samples.cpu()}, "dcgan.pt")
