import argparse
import os

import torch
import yaml
from torch.utils.data import DataLoader

import basic.archs  # noqa: F401
import basic.data  # noqa: F401
import basic.losses  # noqa: F401
from basic.model import RestorationModel
from basic.registry import DATASET_REGISTRY


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", default="options/train_burst.yml")
    args = parser.parse_args()
    with open(args.opt) as f:
        return yaml.safe_load(f)


def create_loader(opt, train):
    opt = dict(opt)
    workers, batch = opt.pop("num_workers"), opt.pop("batch_size", 1)
    return DataLoader(
        DATASET_REGISTRY.build(opt), batch_size=batch, shuffle=train, drop_last=train, num_workers=workers,
        pin_memory=torch.cuda.is_available(),
    )


def main():
    opt = parse_options()
    torch.manual_seed(opt["seed"])
    train_loader = create_loader(opt["datasets"]["train"], train=True)
    val_loader = create_loader(opt["datasets"]["val"], train=False)
    model = RestorationModel(opt)
    root = os.path.join(opt["path"]["experiments_root"], opt["name"])
    os.makedirs(root, exist_ok=True)

    epoch, current_iter, best = 0, 0, 0.0
    if opt["path"]["resume_state"]:
        epoch, current_iter, best = model.resume_training(opt["path"]["resume_state"])
        print(f"resumed at iter {current_iter}")

    total_iter = opt["train"]["total_iter"]
    while current_iter < total_iter:
        for data in train_loader:
            if current_iter >= total_iter:
                break
            current_iter += 1
            model.feed_data(data)
            model.optimize_parameters()
            if current_iter % opt["logger"]["print_freq"] == 0:
                parts = " ".join(f"{k} {v:.4f}" for k, v in model.get_current_log().items())
                print(f"[epoch {epoch}, iter {current_iter}] {parts}")
            if current_iter % opt["val"]["val_freq"] == 0:
                psnr = model.validation(val_loader)
                print(f"PSNR {psnr:.2f} dB")
                if psnr > best:
                    best = psnr
                    torch.save(model.net_g_ema.state_dict(), os.path.join(root, "net_g_best.pth"))
            if current_iter % opt["logger"]["save_checkpoint_freq"] == 0:
                model.save(root, epoch, current_iter, best)
        epoch += 1
    model.save(root, epoch, current_iter, best)


if __name__ == "__main__":
    main()
