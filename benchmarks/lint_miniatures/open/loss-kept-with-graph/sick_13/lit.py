import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SeqModel(L.LightningModule):
    def __init__(self, vocab=200, dim=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.training_losses = [] #@

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])

    def training_step(self, batch, batch_idx):
        (ids,) = batch
        loss = nn.functional.cross_entropy(self(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        self.training_losses.append(loss) #@
        return loss

    def on_train_epoch_end(self):
        self.log("train_loss_epoch", torch.stack(self.training_losses).mean(), prog_bar=True) #@
        self.training_losses.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


loader = DataLoader(TensorDataset(torch.randint(0, 200, (8000, 50))), batch_size=32, shuffle=True)
L.Trainer(max_epochs=10).fit(SeqModel(), loader)
