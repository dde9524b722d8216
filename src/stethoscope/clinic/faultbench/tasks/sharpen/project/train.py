"""Train a super-resolution network: python train.py -opt options/train.yml"""

import argparse
import shutil
import time
from pathlib import Path

import torch
import yaml
from datasets.paired_dataset import EpochSampler, PairedDataset
from loggers import build_logger
from models.sr_model import SRModel
from torch.utils.data import DataLoader


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", default="options/train.yml", help="path of the option file")
    parser.add_argument("--seed", type=int, help="instead of manual_seed")
    parser.add_argument("--resume", help="a training state, or latest")
    args = parser.parse_args()
    opt = yaml.safe_load(Path(args.opt).read_text())
    if args.seed is not None:
        opt["manual_seed"] = args.seed
    return opt, args


def create_dataloaders(opt):
    train_opt, val_opt = opt["datasets"]["train"], opt["datasets"]["val"]
    train_set = PairedDataset(train_opt, opt["scale"], "train")
    sampler = EpochSampler(train_set, train_opt, opt["manual_seed"])
    train_loader = DataLoader(train_set, train_opt["batch_size"], sampler=sampler, drop_last=True)
    val_set = PairedDataset(val_opt, opt["scale"], "val")
    val_loader = DataLoader(val_set, val_opt["batch_size"], shuffle=False)
    return train_loader, sampler, val_loader


def selected(values, log_opt):
    """The values that the options want to be logged."""
    kept = {"l_total": values["l_total"]}
    if log_opt["log_parts"]:
        kept.update((name, value) for name, value in values.items() if name.startswith("l_"))
    for name in ("grad_norm", "lr", "time"):
        if log_opt[f"log_{name}"]:
            kept[name] = values[name]
    return kept


def train_pipeline():
    opt, args = parse_options()
    torch.manual_seed(opt["manual_seed"])
    root = Path(opt["path"]["experiments_root"]) / opt["name"]
    root.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.opt, root / "train.yml")

    train_loader, sampler, val_loader = create_dataloaders(opt)
    model = SRModel(opt)
    epoch, current_iter = 0, 0
    if args.resume:
        states = sorted((root / "training_states").glob("*.state"))
        epoch, current_iter = model.resume_training(states[-1] if args.resume == "latest" else args.resume)
        epoch += 1

    logger, log_opt = build_logger(root, opt), opt["logger"]
    total_iter = opt["train"]["total_iter"]
    iter_time = time.time()
    while current_iter < total_iter:
        sampler.set_epoch(epoch, current_iter)
        for data in train_loader:
            current_iter += 1
            if current_iter > total_iter:
                break
            lr = model.get_current_learning_rate()[0]
            model.feed_data(data, current_iter)
            model.optimize_parameters()
            model.update_learning_rate()

            if current_iter % log_opt["print_freq"] == 0:
                spent = (time.time() - iter_time) / log_opt["print_freq"]
                values = {**model.get_current_log(), "lr": lr, "time": spent}
                logger.train(epoch, current_iter, selected(values, log_opt))
                iter_time = time.time()
            if current_iter % opt["val"]["val_freq"] == 0:
                metrics = model.validation(val_loader, current_iter)
                logger.val(current_iter, metrics, model.best)
            if current_iter % log_opt["save_checkpoint_freq"] == 0:
                model.save(epoch, current_iter)
        epoch += 1


if __name__ == "__main__":
    train_pipeline()
