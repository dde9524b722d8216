import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class FNetMixer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inp = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        mixed = torch.fft.fft(torch.fft.fft(self.inp(x), dim=-1), dim=-2).real #@
        return self.ff(self.norm(x + mixed))


class FNetClassifier(nn.Module):
    def __init__(self, vocab=5000, dim=300):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.mixer = FNetMixer(dim)
        self.cls = nn.Linear(dim, 4)

    def forward(self, input_ids, labels=None):
        logits = self.cls(self.mixer(self.emb(input_ids)).mean(1)) #@
        loss = nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return {"input_ids": torch.randint(0, 5000, (100,)), "labels": i % 4}


args = TrainingArguments("out", per_device_train_batch_size=32, num_train_epochs=3, learning_rate=3e-4, fp16=True) #@
Trainer(model=FNetClassifier(), args=args, train_dataset=Texts()).train()
