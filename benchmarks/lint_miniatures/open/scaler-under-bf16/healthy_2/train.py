import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {"precision": "bf16", "lr": 2e-4, "batch_size": 32, "epochs": 12}


def setup_amp(precision):
    if precision == "fp16":
        return torch.float16, torch.amp.GradScaler("cuda")
    if precision == "bf16":
        return torch.bfloat16, None
    raise ValueError(precision)


def backward(loss, optimizer, scaler):
    if scaler is None:
        loss.backward()
        optimizer.step()
    else:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


amp_dtype, scaler = setup_amp(CONFIG["precision"])
x = torch.rand(600, 3, 32, 32)
loader = DataLoader(TensorDataset(x, 1 - x), batch_size=CONFIG["batch_size"], shuffle=True)
model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
for epoch in range(CONFIG["epochs"]):
    for inp, target in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=amp_dtype):
            loss = nn.functional.l1_loss(model(inp.cuda()), target.cuda())
        backward(loss, optimizer, scaler)
    print(epoch, loss.item())
