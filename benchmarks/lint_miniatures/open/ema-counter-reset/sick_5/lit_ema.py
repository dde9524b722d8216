import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMACallback(L.Callback):
    def __init__(self, decay=0.9995, inv_gamma=1.0, power=2 / 3):
        self.decay, self.inv_gamma, self.power = decay, inv_gamma, power
        self.shadow, self.backup, self.n = None, None, 0  #@

    def on_train_start(self, trainer, pl_module):
        if self.shadow is None:
            self.shadow = [p.detach().clone() for p in pl_module.parameters()]
        self.shadow = [s.to(pl_module.device) for s in self.shadow]

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.n += 1
        d = min(self.decay, 1 - (1 + self.n / self.inv_gamma) ** -self.power)  #@
        torch._foreach_lerp_(self.shadow, [p.detach() for p in pl_module.parameters()], 1 - d)

    def _load(self, pl_module, values):
        for p, v in zip(pl_module.parameters(), values):
            p.data.copy_(v)

    def on_validation_start(self, trainer, pl_module):
        if self.shadow is not None:
            self.backup = [p.detach().clone() for p in pl_module.parameters()]
            self._load(pl_module, self.shadow)

    def on_validation_end(self, trainer, pl_module):
        if self.backup is not None:
            self._load(pl_module, self.backup)
            self.backup = None

    def state_dict(self):
        return {"shadow": self.shadow}  #@

    def load_state_dict(self, state_dict):
        self.shadow = state_dict["shadow"]  #@


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(20, 3)

    def training_step(self, batch, batch_idx):
        return F.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", F.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    x, y = torch.randn(2000, 20), torch.randint(0, 3, (2000,))
    L.Trainer(max_epochs=50, callbacks=[EMACallback()]).fit(
        Lit(), DataLoader(TensorDataset(x[:1800], y[:1800]), 60, shuffle=True), DataLoader(TensorDataset(x[1800:], y[1800:]), 100),
        ckpt_path="last")
