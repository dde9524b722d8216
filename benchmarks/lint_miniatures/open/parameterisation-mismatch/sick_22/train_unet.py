import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from diffusers import DDPMScheduler, UNet2DModel
from torch.utils.data import DataLoader, TensorDataset


def build():
    unet = UNet2DModel(sample_size=32, in_channels=1, out_channels=1, layers_per_block=2,
                       block_out_channels=(64, 128, 128),
                       down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                       up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"))
    scheduler = DDPMScheduler(num_train_timesteps=1000, prediction_type="v_prediction")  #@
    return unet, scheduler


def loss_fn(unet, scheduler, clean):
    noise = torch.randn_like(clean)
    steps = torch.randint(0, scheduler.config.num_train_timesteps, (len(clean),), device=clean.device)
    noisy = scheduler.add_noise(clean, noise, steps)
    pred = unet(noisy, steps).sample
    return F.mse_loss(pred, noise)  #@


@torch.no_grad()
def sample(unet, scheduler, n, device):
    unet.eval()
    x = torch.randn(n, 1, 32, 32, device=device)
    scheduler.set_timesteps(100)
    for t in scheduler.timesteps:
        x = scheduler.step(unet(x, t).sample, t, x).prev_sample  #@
    return x.clamp(-1, 1)


def main():
    set_seed(0)
    accelerator = Accelerator(mixed_precision="bf16")
    unet, scheduler = build()
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
    loader = DataLoader(TensorDataset(torch.load("glyphs.pt")), batch_size=64, shuffle=True)
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    for epoch in range(50):
        unet.train()
        for (clean,) in loader:
            optimizer.zero_grad()
            accelerator.backward(loss_fn(unet, scheduler, clean))
            accelerator.clip_grad_norm_(unet.parameters(), 1.0)
            optimizer.step()
        if accelerator.is_main_process and (epoch + 1) % 10 == 0:
            raw = accelerator.unwrap_model(unet)
            torch.save(sample(raw, scheduler, 16, accelerator.device), f"samples_{epoch + 1}.pt")
        accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
