class BaseTrainer:
    def __init__(self, model, optimizer, loader, device):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.loader = loader
        self.device = device

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for step, batch in enumerate(self.loader):
                loss = self.training_step([t.to(self.device) for t in batch])
                self.optimize(loss) #@
                if step % 50 == 0:
                    print(epoch, step, loss.item())

    def training_step(self, batch):
        raise NotImplementedError

    def optimize(self, loss): #@
        loss.backward() #@
        self.optimizer.step() #@
