import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BilinearFusion(nn.Module):
    def __init__(self, img_dim, txt_dim, dim):
        super().__init__()
        self.img = nn.Linear(img_dim, dim)
        self.txt = nn.Linear(txt_dim, dim)
        self.ctx = nn.Linear(img_dim + txt_dim, dim)

    def forward(self, image, text):
        joint = self.img(image) * self.txt(text) #@
        return joint * self.ctx(torch.cat([image, text], dim=-1)) #@


class VQA(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.fusion = BilinearFusion(2048, 768, 512) #@
        self.classifier = nn.Linear(512, 300)

    def training_step(self, batch, batch_idx):
        image, text, answer = batch
        loss = nn.functional.cross_entropy(self.classifier(self.fusion(image, text)), answer)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


data = TensorDataset(10 * torch.rand(4000, 2048), torch.randn(4000, 768), torch.randint(0, 300, (4000,)))
trainer = L.Trainer(max_epochs=10, accelerator="gpu", devices=1, precision="16-mixed") #@
trainer.fit(VQA(), DataLoader(data, batch_size=64, shuffle=True))
