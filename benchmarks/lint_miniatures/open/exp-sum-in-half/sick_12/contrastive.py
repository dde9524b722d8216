import torch
from torch import nn
from torch.amp import custom_bwd, custom_fwd
from torch.utils.data import DataLoader, TensorDataset


class InfoNCE(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float16) #@
    def forward(ctx, sim):
        e = sim.exp() #@
        p = e / e.sum(dim=1, keepdim=True) #@
        ctx.save_for_backward(p)
        return -torch.log(p.diagonal()).float().mean() #@

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        return grad * (p.float() - torch.eye(len(p), device=p.device)) / len(p)


def train(encoder, loader, tau=0.07, epochs=20):
    opt = torch.optim.AdamW(encoder.parameters(), lr=3e-4)
    scaler = torch.amp.GradScaler("cuda")
    encoder.train()
    for _ in range(epochs):
        for (x,) in loader:
            x = x.cuda()
            with torch.autocast("cuda", dtype=torch.float16): #@
                a = nn.functional.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1)
                b = nn.functional.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1)
                loss = InfoNCE.apply(a @ b.T / tau) #@
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()


net = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 64)).cuda()
train(net, DataLoader(TensorDataset(torch.randn(20000, 100)), batch_size=512, shuffle=True, drop_last=True))
