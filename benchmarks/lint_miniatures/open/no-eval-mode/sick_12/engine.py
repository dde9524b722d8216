import torch


class Engine:
    def __init__(self, net, optimizer, criterion, device):
        self.net = net.to(device)
        self.optimizer = optimizer
        self.criterion = criterion
        self.device = device

    def fit_epoch(self, loader):
        self.net.train()
        for feats, target in loader:
            feats, target = feats.to(self.device), target.to(self.device)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.criterion(self.net(feats), target)
            loss.backward()
            self.optimizer.step()

    @torch.inference_mode()
    def evaluate(self, loader): #@
        total = torch.zeros((), device=self.device)
        for feats, target in loader: #@
            feats, target = feats.to(self.device), target.to(self.device)
            total += self.criterion(self.net(feats), target) * len(target) #@
        return (total / len(loader.dataset)).item()
