import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x)) #@


class TinyLM(L.LightningModule):
    def __init__(self, vocab=1000, dim=256, depth=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(SwiGLU(dim, 4 * dim) for _ in range(depth)) #@
        self.head = nn.Linear(dim, vocab)

    def training_step(self, batch, _):
        x, y = batch
        h = self.embed(x)
        for block in self.blocks:
            h = h + block(h)
        loss = F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


ids = torch.randint(0, 1000, (2000, 129))
loader = DataLoader(TensorDataset(ids[:, :-1], ids[:, 1:]), batch_size=16, shuffle=True)
trainer = L.Trainer(accelerator="gpu", devices=1, precision="16-mixed", max_epochs=5, gradient_clip_val=1.0) #@
trainer.fit(TinyLM(), loader)
