"""Which names stand for a likeness (more is better) and which for a distance."""

from __future__ import annotations

import re
from functools import lru_cache

# A word in a name -> what it measures. Compared word by word: "dssim" and "SSIMLoss" are not "ssim".
LIKENESS_WORDS: dict[str, str] = {
    "ssim": "SSIM",
    "msssim": "MS-SSIM",
    "mssim": "MS-SSIM",
    "structural": "SSIM",
    "psnr": "PSNR",
    "peak": "PSNR",
    "dice": "Dice",
    "iou": "IoU",
    "giou": "IoU",
    "jaccard": "IoU",
    "ncc": "correlation",
    "zncc": "correlation",
    "pearson": "correlation",
    "pearsonr": "correlation",
    "pcc": "correlation",
    "ccc": "correlation",
    "correlation": "correlation",
    "cosine": "cosine similarity",
    "cossim": "cosine similarity",
    "similarity": "similarity",
    "accuracy": "accuracy",
    "snr": "SNR",
    "sdr": "SNR",
    "sisnr": "SNR",
    "sisdr": "SNR",
    "vif": "VIF",
    "fsim": "FSIM",
    "f1": "F score",
    "fscore": "F score",
}
# A name with one of these says that the sign was thought of, or that it is something else.
# fmt: off
OPPOSITE_WORDS = frozenset({
    "loss", "losses", "dissimilarity", "distance", "dist", "error", "err", "criterion", "dssim", "neg",
    "negative", "minus", "one", "inverse", "embedding", "matching", "annealing", "scheduler",
    "schedule",
    # A name that tells a loss beside a likeness is of what both were made into: BCEDice, L1SSIM.
    "bce", "ce", "xent", "entropy", "focal", "nll", "mse", "mae", "rmse", "l1", "l2", "huber", "hinge",
    "charbonnier", "kl",
})
# fmt: on
ANGLES = frozenset({"cosine similarity", "correlation", "similarity"})
LIKELIHOOD = "log-likelihood"
DIVERGENCE = "negative divergence from the standard normal"

# fmt: off
TARGET_WORDS = frozenset({
    "target", "targets", "gt", "gts", "label", "labels", "truth", "ytrue", "true", "hr", "hq", "ref",
    "reference", "clean", "groundtruth", "teacher",
})
# fmt: on
# Terms that push things apart on purpose.
APART = re.compile(
    r"divers|decorr|orthog|repuls|repel|\bneg|_neg|negative|adversar|attack|perturb|disentangl|independ|uncorr|"
    r"dissim|contrast|unlearn|forget|distract|push|separat|redund|apart|hinge|margin|anchor",
    re.IGNORECASE,
)
# The same, with no other term that draws anything together.
ONLY_APART = re.compile(
    r"divers|decorr|orthog|repuls|repel|adversar|attack|perturb|disentangl|independ|uncorr|dissim|unlearn|"
    r"forget|distract|push|separat|redund|apart",
    re.IGNORECASE,
)
# Terms that draw two outputs of networks together.
TOGETHER = re.compile(
    r"align|attract|agree|consisten|distil|(?<![a-z])pos(?![a-z])|positive|pull", re.IGNORECASE
)
# A likelihood of something that is not data: what was said or done is judged by something else.
_BEGINS = r"(?:(?<![a-z])|(?-i:(?<=[a-z])(?=[A-Z])))"  # an action, and no fraction; a ratio, and no iteration
JUDGED = re.compile(
    rf"entrop|policy|reward|advant|unlikel|reject|critic|\bq_|{_BEGINS}(?:action|actor|ratio)", re.IGNORECASE
)
# Terms where even an image likeness is lowered on purpose.
ATTACK = re.compile(
    r"attack|perturb|unlearn|forget|divers|repuls|repel|privacy|anonym|adversarial_ex", re.IGNORECASE
)

_NOTHING = re.compile(r"_*[a-zA-Z]{1,2}_?\d*_*")  # one letter or two, and a number


class Told(str):
    """A name that says nothing itself, and words for what it was found to hold."""

    spoken: tuple[str, ...]

    @classmethod
    def of(cls, name: str, told: tuple[str, ...]) -> Told:
        """The name, spelt as it is, that speaks of what it holds."""
        made = cls(name)
        made.spoken = told if _NOTHING.fullmatch(name) else (*_words_in(name), *told)
        return made

    def __str__(self) -> Told:
        """Itself, so that what makes sure to have a text keeps what is told."""
        return self


def words(name: str) -> tuple[str, ...]:
    """The words of an identifier: `calculate_msSSIM` -> calculate, ms, ssim."""
    return name.spoken if isinstance(name, Told) else _words_in(name)


@lru_cache(maxsize=65_536)
def _words_in(name: str) -> tuple[str, ...]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name.replace("_", " ").replace(".", " "))
    spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", spaced)
    return tuple(spaced.lower().split())


def likeness_named(name: str) -> str:
    """What likeness a bare name stands for, or "" where it says none or also says the opposite."""
    parts = words(name)
    if OPPOSITE_WORDS.intersection(parts):
        return ""
    if "cos" in parts and "sim" in parts:
        return "cosine similarity"
    if "elbo" in parts or ("log" in parts and {"prob", "likelihood"}.intersection(parts)):
        return LIKELIHOOD
    return next((LIKENESS_WORDS[part] for part in parts if part in LIKENESS_WORDS), "")


def outside_orientation(name: str) -> tuple[int, str]:
    """+1 and the likeness, -1 and "" for a loss, else 0 and ""; `name` is a full outside name."""
    bare = name.removesuffix("()")
    last = bare.rpartition(".")[2]
    kind = likeness_named(last)
    if kind:
        return 1, kind
    if "loss" in last.lower() or last in {
        "cross_entropy",
        "kl_div",
        "binary_cross_entropy",
        "pairwise_distance",
    }:
        return -1, ""
    return 0, ""


def is_target_like(name: str) -> bool:
    """Whether a name is what people give to what a prediction is held against."""
    return bool(TARGET_WORDS.intersection(words(name)))
