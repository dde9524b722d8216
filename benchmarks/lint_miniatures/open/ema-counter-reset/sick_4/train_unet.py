import argparse

import torch
import torch.nn.functional as F
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel
from torch.utils.data import DataLoader, TensorDataset


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume", default=None)
    ap.add_argument("--epochs", type=int, default=100)
    args = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    unet = UNet2DModel(sample_size=32, in_channels=3, out_channels=3, block_out_channels=(32, 64, 64, 64)).to(device)
    noise_scheduler = DDPMScheduler(num_train_timesteps=1000)
    ema = EMAModel(unet.parameters(), decay=0.9999, use_ema_warmup=True, power=0.75)  #@
    opt = torch.optim.AdamW(unet.parameters(), lr=1e-4)
    start = 0
    if args.resume:
        ckpt = torch.load(args.resume, map_location=device)
        unet.load_state_dict(ckpt["unet"])
        opt.load_state_dict(ckpt["opt"])
        ema.shadow_params = [p.to(device) for p in ckpt["ema"]]  #@
        start = ckpt["epoch"] + 1
    loader = DataLoader(TensorDataset(torch.rand(512, 3, 32, 32) * 2 - 1), batch_size=16, shuffle=True)
    unet.train()
    for epoch in range(start, args.epochs):
        for (x,) in loader:
            x = x.to(device)
            noise = torch.randn_like(x)
            t = torch.randint(0, 1000, (len(x),), device=device)
            loss = F.mse_loss(unet(noise_scheduler.add_noise(x, noise, t), t).sample, noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.step(unet.parameters())  #@
        torch.save({"unet": unet.state_dict(), "opt": opt.state_dict(), "ema": ema.shadow_params, "epoch": epoch}, "last.pt")  #@


if __name__ == "__main__":
    main()
