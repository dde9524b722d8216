import sys
from pathlib import Path

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = Fabric(accelerator="auto", devices=1)
fabric.launch()
net = nn.Sequential(nn.TransformerEncoderLayer(64, 4, batch_first=True), nn.LayerNorm(64), nn.Linear(64, 1000))
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4)
net, optimizer = fabric.setup(net, optimizer)
loader = DataLoader(TensorDataset(torch.randn(2000, 32, 64), torch.randint(0, 1000, (2000, 32))), 16, shuffle=True)
loader = fabric.setup_dataloaders(loader)

ckpt_dir = Path("checkpoints")
first = 0
if "--continue" in sys.argv: #@
    last = max(ckpt_dir.glob("epoch_*.ckpt"), key=lambda p: int(p.stem.split("_")[1]))
    fabric.load(last, {"net": net}) #@
    first = int(last.stem.split("_")[1]) + 1 #@

net.train()
for epoch in range(first, 30):
    for x, ids in loader:
        logits = net(x)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
    fabric.save(ckpt_dir / f"epoch_{epoch}.ckpt", {"net": net}) #@
