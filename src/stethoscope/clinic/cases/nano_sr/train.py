"""Train a super-resolution network: python train.py -opt options/nano_sr.yml"""

# mypy: disable-error-code="import-not-found"

import argparse
import logging
import math
import shutil
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
from nanosr.data import ProceduralPairs, training_batch
from nanosr.log import IterationLog, describe_start, open_log
from nanosr.model import SRModel
from nanosr.options import OptionError, Options, load_options

logger = logging.getLogger("nano_sr")


def main() -> int:
    """Parse the command line, then train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-opt", type=Path, required=True, help="the YAML file with the settings")
    parser.add_argument("--experiments-root", type=Path, default=Path("experiments"))
    arguments = parser.parse_args()
    try:
        opt = load_options(arguments.opt)
    except OptionError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    train(opt, arguments.opt, arguments.experiments_root)
    return 0


def train(opt: Options, opt_file: Path, experiments_root: Path) -> SRModel:
    """Run the whole training that `opt` describes and return the trained model."""
    experiment = experiments_root / opt.name
    experiment.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(opt_file, experiment / f"{opt.name}.yml")
    open_log(experiment, opt.name)
    torch.set_num_threads(1)
    torch.manual_seed(opt.manual_seed)

    train_set = ProceduralPairs(opt.datasets.train, opt.scale)
    val_set = ProceduralPairs(opt.datasets.val, opt.scale)
    model = SRModel(opt, experiment)
    iters_per_epoch = math.ceil(len(train_set) / opt.datasets.train.batch_size_per_gpu)
    describe_start(opt, opt_file.read_text(encoding="utf-8"), model.net_g, iters_per_epoch)

    start_iter = model.resume() if opt.path.resume_state else 0
    logger.info("Start training from epoch: %d, iter: %d.", start_iter // iters_per_epoch, start_iter)
    iteration_log = IterationLog(opt.train.total_iter, start_iter)
    started = time.monotonic()
    for current_iter in range(start_iter + 1, opt.train.total_iter + 1):
        epoch = current_iter // iters_per_epoch
        model.feed_data(training_batch(train_set, opt.datasets.train, opt.manual_seed, current_iter))
        model.optimize_parameters(current_iter)
        model.update_learning_rate(current_iter)

        if current_iter % opt.logger.print_freq == 0:
            iteration_log.write(epoch, current_iter, model.learning_rates(), model.pop_window_means())
        if current_iter % opt.logger.save_checkpoint_freq == 0 or current_iter == opt.train.total_iter:
            logger.info("Saving models and training states for epoch: %d, iter: %d.", epoch, current_iter)
            model.save(epoch, current_iter)
        if opt.val.val_enabled and current_iter % opt.val.val_freq == 0:
            model.validate(val_set, current_iter)

    elapsed = timedelta(seconds=int(time.monotonic() - started))
    logger.info("End of training. Time consumed: %s", elapsed)
    return model


if __name__ == "__main__":
    sys.exit(main())
