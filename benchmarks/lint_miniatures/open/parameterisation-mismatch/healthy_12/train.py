import torch
from diffusers import DDPMScheduler, UNet2DModel
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

scheduler = DDPMScheduler(num_train_timesteps=1000, prediction_type="v_prediction")
model = UNet2DModel(sample_size=32, in_channels=1, out_channels=1, block_out_channels=(32, 64, 64),
                    down_block_types=("DownBlock2D",) * 3, up_block_types=("UpBlock2D",) * 3).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(TensorDataset(torch.rand(5000, 1, 32, 32) * 2 - 1), batch_size=64, shuffle=True)


def get_target(clean, noise, t):
    if scheduler.config.prediction_type == "epsilon":
        return noise
    return scheduler.get_velocity(clean, noise, t)


model.train()
for epoch in range(30):
    for (clean,) in loader:
        clean = clean.cuda()
        noise = torch.randn_like(clean)
        t = torch.randint(0, 1000, (len(clean),), device="cuda")
        noisy = scheduler.add_noise(clean, noise, t)
        loss = F.mse_loss(model(noisy, t).sample, get_target(clean, noise, t))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
