"""What is minimised: the error of the motion, and that of the energy it stands for."""

import torch
import torch.nn.functional as F

from springs.dataset import SCALE


def energy(motion, raw):
    """The energy of a spring in joule, from its scaled place and speed."""
    place, speed = (motion * SCALE).unbind(-1)
    mass, stiffness = raw[:, 0], raw[:, 1]
    return 0.5 * mass * speed.square() + 0.5 * stiffness * place.square()


class SpringObjective:
    def __init__(self, settings):
        self.kind, self.delta = settings.kind, settings.delta
        self.weights = {"data": settings.data_weight, "energy": settings.energy_weight}

    def parts(self, predicted, targets, raw):
        return {
            "data": self.data_error(predicted, targets),
            "energy": self.energy_error(predicted, targets, raw),
        }

    def data_error(self, predicted, targets):
        if self.kind == "mse":
            return 0.5 * F.mse_loss(predicted, targets)
        return F.huber_loss(predicted, targets, delta=self.delta)

    def energy_error(self, predicted, targets, raw):
        guessed, true = energy(predicted, raw), energy(targets, raw)
        return F.mse_loss(torch.log1p(guessed), torch.log1p(true))

    def total(self, parts):
        return sum(self.weights[name] * part for name, part in parts.items())
