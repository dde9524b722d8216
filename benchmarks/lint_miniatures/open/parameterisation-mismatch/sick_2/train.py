import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DModel
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(mixed_precision="bf16")
    model = UNet2DModel(
        sample_size=32,
        in_channels=3,
        out_channels=3,
        block_out_channels=(64, 128),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    scheduler = DDPMScheduler(num_train_timesteps=1000, prediction_type="v_prediction") #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = DataLoader(TensorDataset(torch.rand(1000, 3, 32, 32) * 2 - 1), batch_size=32, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(30):
        model.train()
        for (images,) in loader:
            noise = torch.randn_like(images)
            steps = scheduler.config.num_train_timesteps
            timesteps = torch.randint(0, steps, (len(images),), device=images.device)
            noisy = scheduler.add_noise(images, noise, timesteps)
            pred = model(noisy, timesteps).sample
            loss = F.mse_loss(pred.float(), noise.float()) #@
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())
    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained("ddpm")
    scheduler.save_pretrained("ddpm")


if __name__ == "__main__":
    main()
