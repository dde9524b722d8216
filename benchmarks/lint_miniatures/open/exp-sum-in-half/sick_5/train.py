import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MasterWeights:
    def __init__(self, model, lr):
        self.model = model.half() #@
        self.master = [p.detach().clone().float().requires_grad_() for p in model.parameters()]
        self.opt = torch.optim.Adam(self.master, lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, loss):
        self.model.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        for m, p in zip(self.master, self.model.parameters()):
            m.grad = p.grad.float()
        self.scaler.step(self.opt)
        self.scaler.update()
        with torch.no_grad():
            for m, p in zip(self.master, self.model.parameters()):
                p.copy_(m)


def mixture_nll(out, y):
    logit, mu, log_s = out.chunk(3, dim=-1)
    z = (y - mu) * torch.exp(-log_s) #@
    log_prob = -0.5 * z.pow(2) - log_s #@
    log_w = logit - torch.log(torch.exp(logit).sum(-1, keepdim=True)) #@
    return -torch.log(torch.exp(log_w + log_prob).sum(-1)).mean() #@


def main():
    net = nn.Sequential(nn.Linear(12, 128), nn.Tanh(), nn.Linear(128, 24)).cuda()
    trainer = MasterWeights(net, lr=1e-3) #@
    data = TensorDataset(torch.randn(5000, 12), torch.randn(5000, 1))
    for epoch in range(20):
        for x, y in DataLoader(data, batch_size=128, shuffle=True):
            loss = mixture_nll(net(x.cuda().half()), y.cuda().half()) #@
            trainer.step(loss)
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
