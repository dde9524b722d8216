import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from sr_data import PairedFolder

train_loader = DataLoader(PairedFolder("DIV2K/train", crop=192), batch_size=16, shuffle=True)
val_loader = DataLoader(PairedFolder("DIV2K/valid", crop=None), batch_size=1)

model = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(),
    nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
    nn.Conv2d(64, 48, 3, padding=1), nn.PixelShuffle(4),
).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)

for epoch in range(100):
    model.train()
    for lr_img, hr_img in train_loader:
        loss = F.l1_loss(model(lr_img.cuda()), hr_img.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    psnr = 0.0
    with torch.no_grad():
        for lr_img, hr_img in val_loader:
            lr_img = F.interpolate(lr_img, size=(64, 64), mode="bilinear", align_corners=False) #@
            hr_img = F.interpolate(hr_img, size=(256, 256), mode="bilinear", align_corners=False) #@
            sr = model(lr_img.cuda()).clamp(0, 1) #@
            psnr += (-10 * torch.log10(F.mse_loss(sr, hr_img.cuda()))).item() #@
    print(epoch, psnr / len(val_loader))
