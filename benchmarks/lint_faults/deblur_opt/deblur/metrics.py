import torch


def to_uint8(image):
    return (image.clamp(0, 1) * 255).round()


def calculate_psnr(pred, gt, crop_border=0):
    """PSNR of two images in [0, 1], on the 8 bit scale."""
    if crop_border:
        keep = slice(crop_border, -crop_border)
        pred, gt = pred[..., keep, keep], gt[..., keep, keep]
    mse = (to_uint8(pred) - to_uint8(gt)).pow(2).mean().clamp(min=1e-8)
    return 10 * torch.log10(255.0**2 / mse)
