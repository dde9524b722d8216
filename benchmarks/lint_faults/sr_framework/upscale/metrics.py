import torch


def calculate_psnr(img, img2, crop_border):
    """PSNR of two images in [0, 1]."""
    if crop_border:
        img = img[..., crop_border:-crop_border, crop_border:-crop_border]
        img2 = img2[..., crop_border:-crop_border, crop_border:-crop_border]
    mse = torch.mean((img.double() - img2.double()) ** 2)
    return (10.0 * torch.log10(1.0 / (mse + 1e-12))).item()
