import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, Dataset

from vae_wrap import DepthAutoencoder, RGBAutoencoder


class DepthMaps(Dataset):
    def __init__(self, path):
        self.maps = torch.load(path)

    def __len__(self):
        return len(self.maps)

    def __getitem__(self, i):
        d = self.maps[i].float()
        return (d / 10.0).clamp(0, 1)[None]


fabric = Fabric(accelerator="auto", precision="bf16-mixed")
fabric.launch()
fabric.seed_everything(9)
base = RGBAutoencoder()
base.load_state_dict(torch.load("rgb_autoencoder.pt", map_location="cpu"))
model = DepthAutoencoder(base)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer = fabric.setup(model, optimizer)
train = fabric.setup_dataloaders(DataLoader(DepthMaps("nyu_train.pt"), 16, shuffle=True))
valid = fabric.setup_dataloaders(DataLoader(DepthMaps("nyu_val.pt"), 16))

for epoch in range(20):
    model.train()
    for depth in train:
        optimizer.zero_grad()
        loss = F.l1_loss(model(depth), depth)
        fabric.backward(loss)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = torch.stack([F.l1_loss(model(d), d) for d in valid]).mean()
    fabric.print(f"epoch {epoch}: {fabric.all_reduce(error):.5f}")
