import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {"lr": 1e-4, "batch_size": 16, "epochs": 30, "precision": "fp16", "wiener_k": 1e-2} #@
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def wiener(y, kernel, k):
    pad = torch.zeros_like(y)
    pad[..., : kernel.shape[-2], : kernel.shape[-1]] = kernel
    otf = torch.fft.fftn(pad, dim=(-2, -1)) #@
    spec = torch.fft.fftn(y, dim=(-2, -1)) #@
    return torch.fft.ifftn(otf.conj() * spec / (otf.abs() ** 2 + k), dim=(-2, -1)).real #@


class Deconv(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Conv2d(1, 1, 3, padding=1)
        self.kernel = nn.Parameter(torch.full((1, 1, 7, 7), 1 / 49))
        self.post = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))

    def forward(self, y):
        y = self.pre(y)
        return self.post(wiener(y, self.kernel.to(y.dtype), CONFIG["wiener_k"])) #@


def train_epoch(model, loader, opt, scaler, dtype):
    model.train()
    for y, x in loader:
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype): #@
            loss = nn.functional.mse_loss(model(y.cuda()), x.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return loss.item()


if __name__ == "__main__":
    x = torch.rand(500, 1, 100, 100)
    loader = DataLoader(TensorDataset(nn.functional.avg_pool2d(x, 7, 1, 3), x), CONFIG["batch_size"], shuffle=True)
    model = Deconv().cuda()
    opt = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(CONFIG["epochs"]):
        print(epoch, train_epoch(model, loader, opt, scaler, DTYPES[CONFIG["precision"]]))
