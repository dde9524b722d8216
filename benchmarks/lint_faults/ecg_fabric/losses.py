import torch
import torch.nn.functional as F


def spectral_l1(pred, target):
    """Mean distance of the complex spectra, on the scale of the signal."""
    with torch.autocast(pred.device.type, enabled=False):
        diff = torch.fft.rfft(pred.float() - target.float(), dim=-1, norm="ortho")
        return diff.abs().mean()


def slope_l1(pred, target):
    return F.l1_loss(pred.diff(dim=-1), target.diff(dim=-1))


class DenoisingLoss:
    def __init__(self, w_spec, w_slope):
        self.w_spec, self.w_slope = w_spec, w_slope

    def __call__(self, pred, target):
        parts = {
            "wave": F.smooth_l1_loss(pred, target, beta=0.1),
            "spec": self.w_spec * spectral_l1(pred, target),
            "slope": self.w_slope * slope_l1(pred, target),
        }
        return sum(parts.values()), parts


def snr_db(pred, target):
    """Per strip, over all leads."""
    signal = target.float().pow(2).sum(dim=(1, 2))
    error = (pred.float() - target.float()).pow(2).sum(dim=(1, 2))
    return 10 * torch.log10(signal / error.clamp(min=1e-10))
