import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def contrastive_loss(image_emb, text_emb, temperature=0.05):
    image_emb = F.normalize(image_emb.to(torch.float32), dim=-1) #@
    text_emb = F.normalize(text_emb.to(torch.float32), dim=-1) #@
    logits = torch.matmul(image_emb, text_emb.t()) / temperature #@
    labels = torch.arange(logits.size(0), device=logits.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


class ClipTrainer:
    def __init__(self, image_tower, text_tower, loader, lr=5e-4):
        self.image_tower = image_tower.cuda()
        self.text_tower = text_tower.cuda()
        self.loader = loader
        params = [*image_tower.parameters(), *text_tower.parameters()]
        self.opt = torch.optim.AdamW(params, lr=lr)

    def train(self, epochs):
        for epoch in range(epochs):
            for image, text in self.loader:
                self.opt.zero_grad(set_to_none=True)
                with torch.autocast("cuda", dtype=torch.bfloat16): #@
                    loss = contrastive_loss(self.image_tower(image.cuda()), self.text_tower(text.cuda())) #@
                loss.backward()
                self.opt.step()
            print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    pairs = TensorDataset(torch.randn(5000, 512), torch.randn(5000, 300))
    loader = DataLoader(pairs, batch_size=256, shuffle=True, drop_last=True)
    ClipTrainer(nn.Linear(512, 128), nn.Linear(300, 128), loader).train(10)
