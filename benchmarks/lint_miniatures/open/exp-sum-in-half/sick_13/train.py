import deepspeed
import torch
from torch import nn
from torch.utils.data import TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, x):
        w = torch.exp(self.score(x)) #@
        return (w * x).sum(1) / w.sum(1) #@


class Net(nn.Module):
    def __init__(self, dim=64, classes=5):
        super().__init__()
        self.embed = nn.Linear(16, dim)
        self.pool = AttentionPool(dim) #@
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.pool(torch.relu(self.embed(x))))


ds_config = {
    "train_micro_batch_size_per_gpu": 32,
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-4}},
    "fp16": {"enabled": True, "initial_scale_power": 12}, #@
}
data = TensorDataset(torch.randn(4000, 256, 16), torch.randint(0, 5, (4000,)))
net = Net()
engine, _, loader, _ = deepspeed.initialize(
    model=net, model_parameters=net.parameters(), training_data=data, config=ds_config
)
engine.train()
for epoch in range(10):
    loader.data_sampler.set_epoch(epoch)
    for x, y in loader:
        logits = engine(x.to(engine.device).half())
        loss = nn.functional.cross_entropy(logits.float(), y.to(engine.device))
        engine.backward(loss)
        engine.step()
