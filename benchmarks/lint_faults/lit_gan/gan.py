"""A small conditional-free GAN on two-moons, trained by hand inside Lightning."""
import argparse

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def two_moons(n):
    t = torch.rand(n) * 3.14159
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, t.cos(), 1 - t.cos())
    y = torch.where(upper, t.sin(), 0.5 - t.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class MoonGAN(L.LightningModule):
    def __init__(self, latent_dim=8, hidden=32, lr_g=2e-4, lr_d=2e-4, beta1=0.5, clip=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.mapping = mlp([latent_dim, hidden])
        self.generator = mlp([hidden, hidden, 2])
        self.discriminator = mlp([2, hidden, hidden, 1])

    def forward(self, z):
        return self.generator(F.leaky_relu(self.mapping(z), 0.2))

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        z = torch.randn(real.size(0), self.hparams.latent_dim, device=self.device)

        # discriminator
        fake = self(z).detach()
        real_logits, fake_logits = self.discriminator(real), self.discriminator(fake)
        d_loss = F.binary_cross_entropy_with_logits(real_logits, torch.ones_like(real_logits))
        d_loss = d_loss + F.binary_cross_entropy_with_logits(fake_logits, torch.zeros_like(fake_logits))
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        opt_d.step()

        # generator
        logits = self.discriminator(self(z))
        g_loss = F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        self.clip_gradients(opt_g, gradient_clip_val=self.hparams.clip, gradient_clip_algorithm="norm")
        opt_g.step()
        self.log_dict({"d_loss": d_loss, "g_loss": g_loss}, prog_bar=True)

    def on_train_epoch_end(self):
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def configure_optimizers(self):
        betas = (self.hparams.beta1, 0.99)
        g_params = list(self.mapping.parameters()) + list(self.generator.parameters())
        opt_g = torch.optim.Adam(g_params, lr=self.hparams.lr_g, betas=betas)
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=self.hparams.lr_d, betas=betas)
        epochs = self.trainer.max_epochs
        decay = [torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs) for opt in (opt_g, opt_d)]
        return [opt_g, opt_d], decay


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--latent", type=int, default=8)
    args = parser.parse_args()
    L.seed_everything(0)
    loader = DataLoader(TensorDataset(two_moons(256)), batch_size=args.batch, shuffle=True)
    trainer = L.Trainer(max_epochs=args.epochs, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False)
    trainer.fit(MoonGAN(latent_dim=args.latent), loader)


if __name__ == "__main__":
    main()
