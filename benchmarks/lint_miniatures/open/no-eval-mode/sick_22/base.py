import torch


class BaseTrainer:
    def __init__(self, model, optimizer, device):
        self.model = model
        self.optimizer = optimizer
        self.device = device

    def loss(self, batch):
        raise NotImplementedError

    def score(self, batch):
        raise NotImplementedError

    def fit(self, train_loader, valid_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for batch in train_loader:
                self.optimizer.zero_grad()
                self.loss([t.to(self.device) for t in batch]).backward()
                self.optimizer.step()
            with torch.inference_mode():  #@
                scores = [self.score([t.to(self.device) for t in b]) for b in valid_loader]  #@
            print(f"epoch {epoch}: {torch.cat(scores).mean().item():.4f}")
