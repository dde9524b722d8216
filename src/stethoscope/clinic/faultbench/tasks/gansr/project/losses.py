"""What generator and discriminator minimise."""

import torch
import torch.nn.functional as F


def pixel_loss(fake, real):
    return F.l1_loss(fake, real)


def generator_gan_loss(fake_logits, gan_type):
    """The generator wants its pictures to be taken for real."""
    if gan_type == "hinge":
        return -fake_logits.mean()
    return F.softplus(-fake_logits).mean()


def discriminator_gan_loss(real_logits, fake_logits, gan_type):
    """The discriminator wants to tell them apart."""
    if gan_type == "hinge":
        loss_real = F.relu(1.0 - real_logits).mean()
        loss_fake = F.relu(1.0 + fake_logits).mean()
    else:
        loss_real = F.softplus(-real_logits).mean()
        loss_fake = F.softplus(fake_logits).mean()
    return loss_real + loss_fake


def r1_penalty(net_d, real):
    """The squared slope of the discriminator at real pictures."""
    real = real.detach().requires_grad_(True)
    logits = net_d(real)
    (slope,) = torch.autograd.grad(logits.mean((1, 2, 3)).sum(), real, create_graph=True)
    return slope.square().flatten(1).sum(1).mean()
