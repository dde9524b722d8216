import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x)) #@


class LM(nn.Module):
    def __init__(self, vocab=1000, dim=256, layers=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(SwiGLU(dim, 4 * dim) for _ in range(layers)) #@
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            h = h + block(h) #@
        return self.head(h)


accelerator = Accelerator(mixed_precision="fp16") #@
model = LM()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
loader = DataLoader(TensorDataset(torch.randint(0, 1000, (6000, 65))), batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()
for epoch in range(4):
    for (ids,) in loader:
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
