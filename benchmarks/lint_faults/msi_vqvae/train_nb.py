# %% [markdown]
# # VQ-VAE on multispectral tiles
# Exported from the notebook; `RESUME=ckpt/last.pt python train_nb.py` goes on from a checkpoint.

# %%
import os
from itertools import islice

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from bands import N_BANDS, Tiles
from vq import VQVAE

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
HALF = device.type == "cuda"
EPOCHS, BATCH, LR = 3, 8, 2e-3
RESUME = os.environ.get("RESUME")
CKPT_DIR = os.environ.get("CKPT_DIR", "ckpt")

# %% data
train_dl = DataLoader(Tiles(range(0, 48), augment=True), batch_size=BATCH, shuffle=True, drop_last=True)
valid_dl = DataLoader(Tiles(range(1000, 1012)), batch_size=BATCH)

# %% model
model = VQVAE(N_BANDS, width=16, codes=32, dim=8, beta=0.25)
model.to(device)
opt = torch.optim.Adam(model.parameters(), lr=LR)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=2)
scaler = torch.amp.GradScaler(device.type, enabled=HALF)

start, best = 0, float("-inf")
if RESUME:
    blob = torch.load(RESUME, map_location="cpu")
    model.load_state_dict(blob["model"])
    opt.load_state_dict(blob["opt"])
    sched.load_state_dict(blob["sched"])
    scaler.load_state_dict(blob["scaler"])
    start, best = blob["epoch"] + 1, blob["best"]


# %% helpers
def psnr(a, b, peak=2.0):
    """For pictures in [-1, 1]."""
    mse = (a - b).square().mean(dim=(1, 2, 3))
    return 10 * torch.log10(peak**2 / mse)


def losses(x):
    with torch.autocast(device.type, dtype=torch.float16, enabled=HALF):
        recon, vq_loss, _ = model(x)
    return F.l1_loss(recon.float(), x), vq_loss.float()


def fit_batch(x):
    opt.zero_grad()
    rec, vq = losses(x)
    scaler.scale(rec + vq).backward()
    scaler.step(opt)
    scaler.update()
    return torch.stack([rec.detach(), vq.detach()])


@torch.inference_mode()
def validate():
    model.eval()
    scores, used = [], set()
    for x in valid_dl:
        x = x.to(device)
        recon, _, index = model(x)
        scores.append(psnr(recon, x))
        used.update(index.tolist())
    return torch.cat(scores).mean().item(), len(used)


# %% training
os.makedirs(CKPT_DIR, exist_ok=True)
for epoch in range(start, EPOCHS):
    model.train()
    history = [fit_batch(x.to(device)) for x in train_dl]
    rec, vq = torch.stack(history).mean(0).tolist()
    score, used = validate()
    sched.step(score)
    print(f"{epoch}: l1 {rec:.4f} vq {vq:.4f} psnr {score:.2f} codes in use {used}")
    is_best, best = score > best, max(score, best)
    blob = dict(
        model=model.state_dict(), opt=opt.state_dict(), sched=sched.state_dict(), scaler=scaler.state_dict(),
        epoch=epoch, best=best,
    )
    for name in ["last.pt"] + ["best.pt"] * is_best:
        torch.save(blob, os.path.join(CKPT_DIR, name))

# %% a look at some reconstructions
model.eval()
with torch.inference_mode():
    for x in islice(valid_dl, 1):
        recon = model(x.to(device))[0].cpu()
        torch.save({"x": x, "recon": recon}, os.path.join(CKPT_DIR, "preview.pt"))
