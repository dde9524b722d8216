"""What cures this patient: replacements in its trainer and in its settings.

The folder holds the sick project. The cured twin is made from it by these edits, so the two
can differ only here.
"""

from pathlib import Path

from stethoscope.clinic.edit import Edit, copy_files

PROJECT = Path(__file__).parent
# What a user's repository holds; the rest of this folder is the clinic's.
SOURCES = (
    "train.py",
    "evaluate.py",
    "configs/config_protein.yaml",
    *sorted(f"sedd/{file.name}" for file in (PROJECT / "sedd").glob("*.py")),
)

TRAINER, CONFIG = "sedd/trainer.py", "configs/config_protein.yaml"

LOSS_HAS_ANOTHER_SIGMA = Edit(
    file=TRAINER,
    old="""\
        sigma, dsigma = self.noise(t)
        corruption = sigma * self.curriculum.difficulty(self.state["step"])
        x = self.graph.sample_transition(x0, corruption[:, None])
        log_score = self.model(x, sigma)
        entropy = self.graph.score_entropy(log_score, sigma[:, None], x, x0)
        return (dsigma[:, None] * entropy).mean()
""",
    to="""\
        # One noise for everything: the corruption, what the model is told, and the loss.
        sigma, dsigma = (difficulty * noise for noise in self.noise(t))
        x = self.graph.sample_transition(x0, sigma[:, None])
        log_score = self.model(x, sigma)
        entropy = self.graph.score_entropy(log_score, sigma[:, None], x, x0)
        residues = x0 != PAD
        return (dsigma[:, None] * entropy)[residues].mean()
""",
    why="tokens are corrupted with less noise than model and loss are told; padding is counted",
)

DIFFICULTY_IS_GIVEN = Edit(
    file=TRAINER,
    old="""\
    def compute_loss(self, x0: Tensor) -> Tensor:
        \"\"\"The diffusion loss of one batch.\"\"\"
""",
    to="""\
    def compute_loss(self, x0: Tensor, difficulty: float) -> Tensor:
        \"\"\"The diffusion loss of one batch, at a share `difficulty` of the noise.\"\"\"
""",
    why="whoever asks for a loss says how hard it is",
)

TRAINING_FOLLOWS_THE_CURRICULUM = Edit(
    file=TRAINER,
    old="""\
            loss = self.compute_loss(batch)
""",
    to="""\
            loss = self.compute_loss(batch, self.curriculum.difficulty(self.state["step"]))
""",
    why="only training follows the curriculum",
)

VALIDATION_FOLLOWS_THE_CURRICULUM = Edit(
    file=TRAINER,
    old="""\
        for index, batch in enumerate(self.valid_loader):
            if index >= self.cfg.training.eval_batches:
                break
            losses.append(self.compute_loss(batch).item())
        self.model.train()
""",
    to="""\
        with self.ema.applied_to(self.model):
            for index, batch in enumerate(self.valid_loader):
                if index >= self.cfg.training.eval_batches:
                    break
                losses.append(self.compute_loss(batch, difficulty=1.0).item())
        self.model.train()
""",
    why="validation was as easy as the step of training was early, and measured the raw weights",
)

STEPS_ARE_MICRO_BATCHES = Edit(
    file=TRAINER,
    old="""\
            self.state["step"] += 1
            step = self.state["step"]
            if (index + 1) % training.accum == 0:
                grad_norm = clip_grad_norm_(self.model.parameters(), self.cfg.optim.grad_clip)
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
                self.ema.update(self.model)
""",
    to="""\
            if (index + 1) % training.accum != 0:
                continue
            # Everything in the settings counts updates of the optimizer, as the schedule does.
            self.state["step"] += 1
            step = self.state["step"]
            grad_norm = clip_grad_norm_(self.model.parameters(), self.cfg.optim.grad_clip)
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
            self.ema.update(self.model)
""",
    why="the step counted batches and the schedule counted updates, a quarter as many",
)

BEST_BY_TRAINING_LOSS = Edit(
    file=TRAINER,
    old="""\
                self.save_checkpoint(sum(losses) / len(losses))
""",
    to="""\
                self.save_checkpoint(self.validate_model())
""",
    why="the best checkpoint was the one whose training was easiest: the first",
)

CHECKPOINT_KNOWS_ITS_VALIDATION = Edit(
    file=TRAINER,
    old="""\
    def save_checkpoint(self, average_loss: float) -> None:
        \"\"\"Write the whole state; the best one also under a name of its own.\"\"\"
        step = self.state["step"]
        is_best = average_loss < self.state["best_loss"]
        if is_best:
            self.state["best_loss"] = average_loss
            print(f"\\N{PARTY POPPER} New best loss: {average_loss:.4f}")
""",
    to="""\
    def save_checkpoint(self, val_loss: float) -> None:
        \"\"\"Write the whole state; the one that validates best also under a name of its own.\"\"\"
        step = self.state["step"]
        is_best = val_loss < self.state["best_loss"]
        if is_best:
            self.state["best_loss"] = val_loss
            print(f"\\N{PARTY POPPER} New best loss: {val_loss:.4f}")
""",
    why="the same",
)

IMPORTS = Edit(
    file=TRAINER,
    old="""\
from .data import ProteinDataset
""",
    to="""\
from .data import PAD, ProteinDataset
""",
    why="the loss leaves it out",
)

RUN_IS_SHORTER_THAN_ITS_SCHEDULE = Edit(
    file=CONFIG,
    old="""\
  n_iters: 100000
  log_freq: 32
  eval_freq: 256
  eval_batches: 20
  snapshot_freq: 1024
""",
    to="""\
  n_iters: 1024  # 16 epochs of 64 updates
  log_freq: 8
  eval_freq: 64
  eval_batches: 20
  snapshot_freq: 256
""",
    why="the cosine would have ended after 100,000 updates; the run has 1,024",
)

NOISE_NEVER_REACHES_THE_MASK = Edit(
    file=CONFIG,
    old="""\
  type: cosine
  sigma_min: !!float "1e-4"
  sigma_max: 0.8
""",
    to="""\
  type: loglinear
""",
    why="at most 55 % of the tokens were ever masked, and sampling starts from all of them",
)

CURRICULUM_IS_LONGER_THAN_THE_RUN = Edit(
    file=CONFIG,
    old="""\
  preschool_time: 5000
""",
    to="""\
  preschool_time: 256
""",
    why="5,000 steps of a run of 4,096",
)

WARM_UP_IS_LONGER_THAN_THE_RUN = Edit(
    file=CONFIG,
    old="""\
  warmup: 1500
""",
    to="""\
  warmup: 64
""",
    why="1,500 updates of a run of 1,024",
)

LR_SCHEDULE_IS_NEVER_READ = Edit(
    file=CONFIG,
    old="""\

lr_schedule:
  type: cosine
  warmup_steps: 1500
  min_lr_ratio: 0.01
""",
    to="",
    why="nothing reads this section",
)

CURE = (
    LOSS_HAS_ANOTHER_SIGMA,
    DIFFICULTY_IS_GIVEN,
    TRAINING_FOLLOWS_THE_CURRICULUM,
    VALIDATION_FOLLOWS_THE_CURRICULUM,
    STEPS_ARE_MICRO_BATCHES,
    BEST_BY_TRAINING_LOSS,
    CHECKPOINT_KNOWS_ITS_VALIDATION,
    IMPORTS,
    RUN_IS_SHORTER_THAN_ITS_SCHEDULE,
    NOISE_NEVER_REACHES_THE_MASK,
    CURRICULUM_IS_LONGER_THAN_THE_RUN,
    WARM_UP_IS_LONGER_THAN_THE_RUN,
    LR_SCHEDULE_IS_NEVER_READ,
)


def copy_project(target: Path, edits: tuple[Edit, ...] = ()) -> None:
    """Copy the project's source and settings to `target` and apply `edits` to the copy."""
    copy_files(PROJECT, SOURCES, target, edits)
