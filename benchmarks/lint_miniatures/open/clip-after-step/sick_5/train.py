import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

with open("config.yaml") as f:
    cfg = yaml.safe_load(f)

device = "cuda"
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
opt = torch.optim.AdamW(model.parameters(), lr=cfg["optim"]["lr"])
scaler = torch.amp.GradScaler(device)
loader = DataLoader(
    TensorDataset(torch.randn(2560, 16), torch.randint(0, 8, (2560,))),
    batch_size=cfg["train"]["batch_size"],
    shuffle=True,
)
for epoch in range(cfg["train"]["epochs"]):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.autocast(device, dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        scaler.step(opt) #@
        if cfg["optim"]["grad_clip"]:
            nn.utils.clip_grad_norm_(model.parameters(), cfg["optim"]["grad_clip"]) #@
        scaler.update()
        opt.zero_grad(set_to_none=True)
    print(epoch, loss.item())
