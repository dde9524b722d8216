import torch
from torch.utils.data import DataLoader, Dataset

MEAN = torch.tensor([0.42, 0.45, 0.38]).view(3, 1, 1)
STD = torch.tensor([0.20, 0.19, 0.18]).view(3, 1, 1)


class Haze:
    """How much haze is laid over the scenes; grows with the epochs."""

    def __init__(self, start, end, ramp_epochs):
        self.start, self.end, self.ramp_epochs = start, end, ramp_epochs
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    @property
    def strength(self):
        done = min(1.0, self.epoch / max(1, self.ramp_epochs))
        return self.start + (self.end - self.start) * done

    def __call__(self, image):
        amount = self.strength * torch.rand(())
        return image * (1 - amount) + amount


def fetch_scene(index, size, classes, ignore):
    """Stands for reading a GeoTIFF: an image in [0, 1] with one or three bands, and its mask."""
    g = torch.Generator().manual_seed(index)
    h, w = size
    mask = torch.randint(classes, (h // 8 + 1, w // 8 + 1), generator=g)
    mask = mask.repeat_interleave(8, 0).repeat_interleave(8, 1)[:h, :w]
    tone = torch.linspace(0.2, 0.8, classes)[mask]
    image = torch.stack([tone, tone.sqrt(), 1 - tone]) + 0.05 * torch.randn(3, h, w, generator=g)
    if index % 4 == 3:  # a panchromatic camera
        image = image.mean(0, keepdim=True)
    mask = mask.clone()
    mask[:, ::8] = ignore  # nobody knows whom the hedges belong to
    return image.clamp(0, 1), mask


def to_three_bands(image):
    if image.shape[0] == 1:
        image = image.expand(3, -1, -1)
    return image


class Scenes(Dataset):
    def __init__(self, indices, size, cfg, crop=None, haze=None):
        self.indices, self.size, self.crop, self.haze = indices, size, crop, haze
        self.classes, self.ignore = cfg["model"]["classes"], cfg["loss"]["ignore"]

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, i):
        image, mask = fetch_scene(self.indices[i], self.size, self.classes, self.ignore)
        image = to_three_bands(image)
        if self.haze is not None:
            image = self.haze(image)
        if self.crop:
            top = int(torch.randint(image.shape[1] - self.crop + 1, ()))
            left = int(torch.randint(image.shape[2] - self.crop + 1, ()))
            image = image[:, top : top + self.crop, left : left + self.crop]
            mask = mask[top : top + self.crop, left : left + self.crop]
            if torch.rand(()) < 0.5:
                image, mask = image.flip(2), mask.flip(1)
        return (image - MEAN) / STD, mask


def make_loaders(cfg):
    data = cfg["data"]
    haze = Haze(**cfg["curriculum"])
    first_val = data["train_scenes"]
    train = Scenes(range(first_val), (64, 64), cfg, crop=data["crop"], haze=haze)
    val = Scenes(range(first_val, first_val + data["val_scenes"]), (70, 58), cfg)
    common = {"num_workers": data["workers"], "pin_memory": torch.cuda.is_available()}
    return (
        DataLoader(train, data["batch_size"], shuffle=True, drop_last=True, **common),
        DataLoader(val, 1, shuffle=False, **common),
    )
