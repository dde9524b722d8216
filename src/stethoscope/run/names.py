"""Canonical signal names: one spelling for what logs call by a hundred.

    loss, loss/<component>          what training minimises, and its parts
    weight/<component>              the weight of a part, named as the part is
    val/<metric>, val/loss          measured on held-out data; train/<metric> on training data
    lr, grad_norm, loss_scale, skipped, epoch, difficulty, param_norm, update_ratio
    step_time, data_time, throughput, mem, runtime

A name is folded to lower-case tokens, its role (train or validation) and its granularity (step or
epoch) are set aside, and what remains is looked up in the tables below. A name that no table knows
stays as it was logged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

HIGHER, LOWER = "higher", "lower"


def canonical(logged: str) -> str:
    """The canonical name of a logged quantity, or the logged name where none is known."""
    return _named(logged) or logged


def known(logged: str) -> bool:
    """Whether the tables recognise this name as a signal of a training run."""
    return _named(logged) is not None


def better(name: str) -> str | None:
    """Whether "higher" or "lower" values are better; None where that is not known."""
    spoken = name if name.startswith(("val/", "train/")) else canonical(name)
    if spoken.split("/")[0] == "loss" or spoken.startswith(("val/loss", "train/loss")):
        return LOWER
    metric = _metric_in(_without_roles(_tokens(spoken))) if spoken.startswith(("val/", "train/")) else None
    return metric.better if metric else None


def held_out(label: str) -> bool:
    """Whether a file or folder of this name holds measurements on held-out data."""
    tokens = frozenset(_tokens(label))
    return bool(tokens & _VALIDATION) and tokens <= _VALIDATION | _FILE_WORDS


# `train_eval_loss` and `eval_train/acc` are measured on training data; `train/eval_loss` is not known to be.
_EVALUATED_ON_TRAINING = re.compile(
    r"(?:^|[\W_])(?:train(?:ing)?[_. -]?eval(?:uation)?|eval[_. -]train(?:ing)?)(?:[\W_]|$)",
    re.IGNORECASE,
)
_FILE_WORDS = frozenset(
    [
        *("log", "logs", "metrics", "metric", "loss", "losses", "history", "results", "stats"),
        *("scalars", "scores", "curve", "curves", "summary"),
    ]
)


def speaks_of_held_out(label: str) -> bool:
    """Whether a name has a word for held-out data in it, whatever else it says."""
    return not _VALIDATION.isdisjoint(_tokens(label))


def held_out_twin(label: str, other: str) -> bool:
    """Whether a name says held-out exactly where another says training: val_run3 and train_run3."""
    ours, theirs = _tokens(label), _tokens(other)
    apart = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    return (
        len(ours) == len(theirs)
        and bool(apart)
        and all(one in _VALIDATION and another in _TRAIN for one, another in apart)
    )


def validated(name: str) -> str:
    """The name of a loss or training metric as measured on held-out data; any other name as it is."""
    if name == "loss" or name.startswith("loss/"):
        return f"val/{name}"
    return f"val/{name.removeprefix('train/')}" if name.startswith("train/") else name


def assign(counts: Mapping[str, int]) -> dict[str, str]:
    """One name for each quantity of one log; `counts` holds the logged names and their numbers of points.

    Where two quantities claim one canonical name, the finest grained has it and the others keep the name
    they were logged under: two quantities are never merged.
    """
    claims = _told_apart(counts)
    names = {}
    for claimed, claimants in claims.items():
        winner = max(claimants, key=lambda logged: _fineness(logged, counts[logged]))
        for logged in claimants:
            names[logged] = claimed if logged == winner else _own_name(logged, claims)
    names.update(_rare_metrics(names, counts))
    groups = [logged for logged, name in names.items() if name.startswith("lr/")]
    if groups and "lr" not in names.values():
        names[groups[0]] = "lr"  # one rate must speak for all groups; the first is the optimiser's own
    return names


def _told_apart(counts: Iterable[str]) -> dict[str, list[str]]:
    """The quantities that claim each name; `train_eval_loss` beside `val_loss` is of training data."""
    claims: dict[str, list[str]] = {}
    for logged in counts:
        claims.setdefault(canonical(logged), []).append(logged)
    for claimed in [name for name in claims if name.startswith("val/")]:
        ours = [logged for logged in claims[claimed] if _TRAIN.intersection(_tokens(logged))]
        others = [logged for logged in claims[claimed] if logged not in ours]
        if ours and others:
            claims[claimed] = others
            claims.setdefault(f"train/{claimed.removeprefix('val/')}", []).extend(ours)
    return claims


RARELY = 3  # times as often the loss is logged as what is measured on held-out data, at least


def _rare_metrics(names: Mapping[str, str], counts: Mapping[str, int]) -> dict[str, str]:
    """Metrics under a heading that says no role, `bbox/mIoU`: what is measured rarely was held out.

    Only where no other quantity says that it was measured on held-out data.
    """
    losses = [counts[logged] for logged, name in names.items() if name.split("/")[0] == "loss"]
    if not losses or any(name.startswith("val/") for name in names.values()):
        return {}
    found: dict[str, str] = {}
    for logged, name in names.items():
        spoken = _metric_under_heading(logged) if name == logged else None
        if spoken and spoken not in found.values() and RARELY * counts[logged] <= max(losses):
            found[logged] = spoken
    return found


def _metric_under_heading(logged: str) -> str | None:
    """`bbox/mIoU` as val/bbox_iou; None where the last word behind a stroke is no metric by itself."""
    heading, stroke, last = logged.rpartition("/")
    tokens = _tokens(heading)
    metric = _BY_SPELLING.get(_tokens(last))
    if not stroke or metric is None or not tokens or _TRAIN.intersection(tokens):
        return None
    return f"val/{'_'.join((*tokens, metric.name))}"


def _own_name(logged: str, taken: Iterable[str]) -> str:
    # A name that another quantity holds as its canonical one would merge the two.
    name = logged
    while name in taken:
        name += " (logged)"
    return name


def _fineness(logged: str, points: int) -> tuple[int, int, int, int]:
    """How directly a name speaks: per step before per epoch, validation before test, total before plain."""
    tokens = _tokens(logged)
    grain = 1 if _PER_STEP.intersection(tokens) else -1 if _COARSE.intersection(tokens) else 0
    return grain, -len(_TEST.intersection(tokens)), points, len(_TOTAL.intersection(tokens))


# --- tokens -----------------------------------------------------------------------------------------

_TRAIN = frozenset({"train", "training", "trn"})
_TEST = frozenset({"test", "testing"})
_VALIDATION = (
    frozenset({"val", "valid", "validation", "eval", "evaluation", "dev", "holdout", "heldout"}) | _TEST
)
_PER_STEP = frozenset({"step", "iter", "batch"})
_COARSE = frozenset(
    [
        "epoch",
        "avg",
        "average",
        "averaged",
        "avr",
        "ave",
        "moving",
        "mov",
        "running",
        "smooth",
        "smoothed",
        "smth",
        "ema",
        "cumulative",
        "cum",
    ]
)
_DATA_SETS = frozenset({"set", "dataset", "split"})  # "Test set loss" is the loss of the test
_TOTAL = frozenset({"total", "overall", "tot"})
# Records of other values rather than measurements: "best_valid_loss: inf" is a sentinel, not a loss.
_RECORDS = frozenset({"best", "min", "max", "std", "var", "num", "count", "target", "threshold", "patience"})
_NAMESPACES = frozenset(
    [
        "losses",
        "metrics",
        "metric",
        "results",
        "scalars",
        "charts",
        "optim",
        "optimizer",
        "model",
        "global",
        "rollout",
    ]
)
_HELD_OUT = re.compile(r"(?<![a-z])held[\s_-]out(?![a-z])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z](?:[a-z]|$))")
_SEPARATORS = re.compile(r"[\s_\-./\\:@|()\[\]{}=,;#*%\"']+")
LONGEST_NAME = 200  # characters; longer keys are data that was logged as a name


# Words of other languages, which join them: Trainingsverlust is the loss of training.
_TRANSLATED = {
    "verluste": "loss",
    "verlust": "loss",
    "genauigkeit": "accuracy",
    "lernrate": "lr",
    "trainings": "training",
    "training": "training",
    "validierungs": "validation",
    "validierung": "validation",
    "validations": "validation",
    "test": "test",
    "gesamt": "total",
    "epoche": "epoch",
    "epochen": "epoch",
    "schritte": "step",
    "schritt": "step",
    "\u8bad\u7ec3": "training",  # simplified
    "\u9a8c\u8bc1": "validation",
    "\u6d4b\u8bd5": "test",
    "\u635f\u5931": "loss",
    "\u51c6\u786e\u7387": "accuracy",
    "\u51c6\u786e\u5ea6": "accuracy",
    "\u6b63\u786e\u7387": "accuracy",
    "\u5b66\u4e60\u7387": "lr",
    "\u8a13\u7df4": "training",  # traditional, and Japanese
    "\u9a57\u8b49": "validation",
    "\u691c\u8a3c": "validation",
    "\u6e2c\u8a66": "test",
    "\u640d\u5931": "loss",
    "\u6e96\u78ba\u7387": "accuracy",
    "\u6b63\u89e3\u7387": "accuracy",
    "\u5b78\u7fd2\u7387": "lr",
    "\u5b66\u7fd2\u7387": "lr",
    "\u5e73\u5747": "average",
    "\u603b": "total",
    "\u7e3d": "total",
    "\u96c6": "set",
    "\u503c": "",  # the value of
    "\u7684": "",  # of
    "\u4e0a": "",  # on
    "\u8f6e\u6b21": "epoch",
    "\u8f6e\u6570": "epoch",
    "\u8f6e": "epoch",
    "\u8f2a": "epoch",
    "\u6b65\u6570": "step",
    "\u6b65": "step",
    "\u8fed\u4ee3": "iteration",
}
_KNOWN_WORD = "|".join(sorted(_TRANSLATED, key=len, reverse=True))
_JOINED_WORDS = re.compile(rf"(?<![^\W\d_])(?:{_KNOWN_WORD})+(?![^\W\d_])", re.IGNORECASE)
_EACH_WORD = re.compile(_KNOWN_WORD, re.IGNORECASE)


def in_english(text: str) -> str:
    """A text with the German and Chinese words for what is measured in English; others stay as they are."""
    return _JOINED_WORDS.sub(
        lambda joined: " ".join(_TRANSLATED[word.lower()] for word in _EACH_WORD.findall(joined[0])), text
    )


@lru_cache(maxsize=4096)
def _tokens(name: str) -> tuple[str, ...]:
    split = in_english(_CAMEL.sub("_", name[:LONGEST_NAME])).lower()
    split = _HELD_OUT.sub("heldout", split)
    return tuple(token for token in _SEPARATORS.split(split) if token)


def _without_roles(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(t for t in tokens if t not in _TRAIN and t not in _VALIDATION)


# `vloss`, `vacc`: one letter for the data that was held out. `main/loss`: Chainer's name for the network.
_GLUED_ROLE = re.compile(
    r"(?<![^\W_])v(loss|acc|accuracy|auc|f1|ppl|mae|mse|rmse|iou|miou|dice|psnr)\b", re.IGNORECASE
)
_NETWORK = re.compile(r"(?:(?<=/)|^)main/")


@lru_cache(maxsize=4096)
def _named(logged: str) -> str | None:
    if len(logged) > LONGEST_NAME:
        return None
    tokens = _tokens(_NETWORK.sub("", _GLUED_ROLE.sub(r"val_\1", logged)))
    validated = bool(_VALIDATION.intersection(tokens))
    role = "val" if validated else "train" if _TRAIN.intersection(tokens) else ""
    rest = _without_roles(tokens)
    found = (
        _ABBREVIATIONS.get(logged)
        or _axis(rest)
        or _housekeeping(rest, validated)
        or (
            None
            if _RECORDS.intersection(rest)
            else _loss(rest, role) or _objective(rest, role) or _metric(rest, role, tokens)
        )
    )
    if found and found.startswith("val/") and _EVALUATED_ON_TRAINING.search(logged):
        return f"train/{found.removeprefix('val/')}"
    return found


# --- exact spellings --------------------------------------------------------------------------------

_ABBREVIATIONS = {
    "trl": "loss",  # llm.c
    "tel": "val/loss",
    "TL": "loss",
    "VL": "val/loss",
    "gnorm": "grad_norm",  # fairseq
    "gn": "grad_norm",
    "norm": "grad_norm",  # llm.c
    "hella": "val/hellaswag",  # build-nanogpt
    "time": "step_time",  # MMEngine; "Time" and "train_time" are clocks
}
_EPOCH = frozenset(
    {("epoch",), ("epochs",), ("current", "epoch"), ("cur", "epoch"), ("trainer", "epoch"), ("ep",)}
)


def _axis(rest: tuple[str, ...]) -> str | None:
    return "epoch" if rest in _EPOCH else None


# --- what is not a loss and not a metric --------------------------------------------------------------

_TIME_WORDS = frozenset({"second", "seconds", "sec", "secs", "s"})
_PER_SECOND = frozenset({"fps", "throughput", "ips", "tps", "sps", "wps", "mfu", "tflops", "flops", "its"})
_COUNTED = frozenset({"per", "tok", "tokens", "samples", "it", "iter", "images", "img", "imgs", "steps"})
_MEMORY = frozenset({"mem", "memory", "vram"})
_HOST = frozenset({"cpu", "ram", "host"})
_RUNTIME = frozenset({"runtime", "elapsed", "eta", "walltime", "duration", "remaining"})
_STEP_TIME = frozenset(
    {
        ("dt",),
        ("step", "time"),
        ("iter", "time"),
        ("iteration", "time"),
        ("batch", "time"),
        ("step", "avg"),
        ("time", "per", "step"),
        ("time", "per", "iter"),
        ("time", "per", "iteration"),
        ("sec", "per", "step"),
        ("seconds", "per", "step"),
        ("ms", "per", "step"),
        ("batch", "cost"),
        ("ms", "batch"),
    }
)
_DATA_TIME = frozenset(
    {
        ("data", "time"),
        ("data", "loading", "time"),
        ("dataload", "time"),
        ("dataloader", "time"),
        ("reader", "cost"),
    }
)
_GRAD = frozenset({"grad", "gradient", "grads", "gradients"})
_NORM = frozenset({"norm", "norms", "gnorm"})
_CLIP = frozenset({"clip", "clipping", "clipped", "coef", "coeff"})
_SCALER = frozenset({"scaler", "amp"})
_LR_WORDS = frozenset({"lr", "lrs"})
# Spellings of the one learning rate; anything else beside "lr" names a parameter group.
_LR_PLAIN = frozenset(
    {"base", "current", "cur", "0", "g", "cosine", "schedule", "scheduler", "value", "opt", "last"}
)
_UPDATE = frozenset({"ratio", "ratios"})


def _housekeeping(rest: tuple[str, ...], validated: bool) -> str | None:
    """Rates, norms, scales, weights, speed and memory; None for anything else."""
    words = frozenset(rest)
    kept = tuple(t for t in rest if t not in _NAMESPACES)
    return (
        _speed(kept, words, validated)
        or _learning_rate(kept)
        or _gradient_norm(kept, words)
        or _loss_scale(kept, words)
        or _weight(kept)
        or _other(kept, words)
    )


def _speed(kept: tuple[str, ...], words: frozenset[str], validated: bool) -> str | None:
    where = "/eval" if validated else ""
    if kept in _STEP_TIME:
        return "runtime/eval" if validated else "step_time"
    if kept in _DATA_TIME:
        return "data_time"
    if words & _PER_SECOND or (len(kept) > 1 and kept[-1] in _TIME_WORDS and words & _COUNTED):
        return "mfu" if "mfu" in words else f"throughput{where}"
    if words & _RUNTIME or kept == ("time",):
        return f"runtime{where}" if len(kept) == 1 else None
    if words & _MEMORY and not words & _HOST:
        return "mem"
    return None


def _learning_rate(kept: tuple[str, ...]) -> str | None:
    joined = "_".join(kept)
    if "learning_rate" in joined:
        kept = tuple(t for t in ("lr_" + joined.replace("learning_rate", "")).split("_") if t)
    numbered = re.fullmatch(r"lr(\d+)", kept[-1]) if kept else None
    if numbered:  # Ultralytics: x/lr0, lr/pg1
        return "lr" if numbered[1] == "0" else f"lr/{numbered[1]}"
    if not _LR_WORDS.intersection(kept) or "multiplier" in kept:
        return None
    group = [t for t in kept if t not in _LR_WORDS and t not in _LR_PLAIN]
    return "lr/" + "_".join(group) if group else "lr"


def _gradient_norm(kept: tuple[str, ...], words: frozenset[str]) -> str | None:
    if words & _CLIP or not ("gnorm" in words or (words & _GRAD and words & _NORM)):
        return None
    # Lightning logs grad_2.0_norm_total; "g" is the generator, the one network of most runs.
    skipped = _GRAD | _NORM | _TOTAL | {"global", "g", "l2", "2", "0", "before", "unclipped"}
    part = [t for t in kept if t not in skipped]
    return "grad_norm/" + "_".join(part) if part else "grad_norm"


def _loss_scale(kept: tuple[str, ...], words: frozenset[str]) -> str | None:
    if "lossscale" in words or ("scale" in words and words & ({"loss"} | _GRAD | _SCALER)):
        part = [
            t
            for t in kept
            if t not in {"scale", "loss", "lossscale", "g", "dynamic", "current"} | _GRAD | _SCALER
        ]
        return None if part else "loss_scale"
    if kept in {("scale", "g"), ("scales", "scale", "g")}:
        return "loss_scale"
    return "loss_scale/d" if kept in {("scale", "d"), ("scales", "scale", "d")} else None


def _weight(kept: tuple[str, ...]) -> str | None:
    marked = next((t for t in kept if t in {"weight", "weights", "lambda"}), None)
    if marked is None or len(kept) < 2 or {"decay", "norm", "norms"}.intersection(kept):
        return None
    part = _component(tuple(t for t in kept if t not in {marked, "dynamic"}))
    # "fc.weight" is a parameter; a loss weight says so, or is the weight of something that can be a loss.
    about_loss = {"loss", "dynamic", "l"}.intersection(kept) or kept[0] == marked or part in MINIMISED
    return f"weight/{part}" if about_loss and part else None


def _other(kept: tuple[str, ...], words: frozenset[str]) -> str | None:
    if words & {"skipped", "skip"} and not words & {"connection", "connections", "ratio"}:
        return "skipped"
    if words & _NORM and words & {"param", "params", "parameter", "parameters", "weight", "weights"}:
        return "param_norm" if len(kept) <= 3 else None
    if "update" in words and words & _UPDATE:
        return "update_ratio"
    return "difficulty" if "difficulty" in words else None


# --- losses -----------------------------------------------------------------------------------------

_LOSS_WORDS = frozenset({"loss", "losses"})
# Terms that people minimise alone: where one of these is the only loss logged, it is the loss.
MINIMISED = frozenset(
    [
        "l1",
        "l2",
        "mse",
        "mae",
        "ce",
        "bce",
        "nll",
        "pix",
        "pixel",
        "recon",
        "rec",
        "dice",
        "focal",
        "ctc",
        "cls",
        "huber",
        "charbonnier",
        "ssim",
        "msssim",
        "mssim",
        "ms_ssim",
        "xent",
        "cross_entropy",
        "crossentropy",
        "smooth_l1",
        "nelbo",
        "neg_elbo",
        "bpd",
        "bits_per_dim",
        "data",
    ]
)
# Under a "Loss/" heading, but no losses: StyleGAN logs Loss/scores/fake and Loss/signs/real.
_NOT_LOSSES = frozenset(
    {"score", "scores", "sign", "signs", "logits", "prob", "probs", "penalty", "acc", "accuracy"}
)
_FILLERS = (
    _LOSS_WORDS
    | _TOTAL
    | _PER_STEP
    | _COARSE
    | _NAMESPACES
    | _DATA_SETS
    | frozenset({"sum", "lm", "mean", "all", "local"})
)


def _loss(rest: tuple[str, ...], role: str) -> str | None:
    labelled = len(rest) > 1 and rest[0] == "l" and not rest[1].isdigit()  # BasicSR: l_pix, l_g_gan
    if not (_LOSS_WORDS.intersection(rest) or labelled) or _NOT_LOSSES.intersection(rest):
        return None
    part = _component(rest)
    head = "val/loss" if role == "val" else "loss"
    return f"{head}/{part}" if part else head


# Names of what is minimised that do not say "loss": alone, and beside a word for training or validation.
_OBJECTIVES = frozenset(
    {
        ("cost",),
        ("objective",),
        ("xent",),
        ("crossentropy",),
        ("cross", "entropy"),
        ("ce",),
        ("bce",),
        ("bpd",),
        ("bits", "per", "dim"),
    }
)
_OBJECTIVES_OF_A_ROLE = frozenset(
    {
        ("l1",),
        ("l2",),
        ("huber",),
        ("charbonnier",),
        ("smooth", "l1"),
        ("focal",),
        ("nelbo",),
        ("neg", "elbo"),
    }
)


def _objective(rest: tuple[str, ...], role: str) -> str | None:
    """A loss by another name: xent, train_bce, cost."""
    kept = tuple(t for t in rest if t not in _NAMESPACES | _PER_STEP | (_COARSE - {"smooth"}))
    if kept not in _OBJECTIVES and not (role and kept in _OBJECTIVES_OF_A_ROLE):
        return None
    head = "val/loss" if role == "val" else "loss"
    return head if kept in {("cost",), ("objective",)} else f"{head}/{'_'.join(kept)}"


def _component(rest: tuple[str, ...]) -> str:
    """What part of the loss a name speaks of: l_g_ssim is ssim, loss_cls is cls, l_g_total is all of it."""
    kept = [t for t in rest if t not in _FILLERS]
    if kept and kept[0] == "l" and len(kept) > 1:
        kept = kept[1:]
        if kept[0] == "g":
            kept = kept[1:]
    elif kept in (["l", "g"], ["l"]):
        kept = []
    return "_".join(kept)


# --- metrics ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    better: str
    side: str  # the role it is taken for when the log does not say: "val", "train" or "" for itself
    spellings: tuple[tuple[str, ...], ...]


def _metrics(rows: str) -> tuple[_Metric, ...]:
    table = []
    for row in rows.strip().splitlines():
        name, direction, side, *spellings = row.split()
        words = [tuple(spelling.split("+")) for spelling in (name.replace("_", "+"), *spellings)]
        table.append(_Metric(name, direction, "" if side == "-" else side, tuple(words)))
    return tuple(table)


# name, which way is better, side when unsaid, other spellings (tokens joined by +)
_METRICS = _metrics("""
psnr          higher val   psnr+y psnry
ssim          higher val   ssim+y
ms_ssim       higher val   msssim mssim
lpips         lower  val
dists         lower  val
niqe          lower  val
fid           lower  val   fid50k fid50k+full fid10k fid5k
kid           lower  val   kid50k kid50k+full
clip_score    higher val   clipscore
accuracy      higher train acc acc1 top1 top+1 acc+1 acc+top1 prec1 prec+1 categorical+accuracy
accuracy_top5 higher train acc5 top5 top+5 acc+5 prec5 prec+5
precision     higher train
recall        higher train
f1            higher train f1score fscore f+score
auc           higher train auroc roc+auc rocauc
iou           higher train miou mean+iou m+iou m+io+u
dice          higher train dsc
map50_95      higher val   map50+95 map+0+5+0+95
map50         higher val   map+50 map+0+5 ap50
map75         higher val   map+75 ap75
map           higher val   ap
pesq          higher val
stoi          higher val
mcc           higher val
kappa         higher val
spearman      higher val   spearmanr
pearson       higher val   pearsonr
r2            higher val
bleu          higher val   bleu4 sacrebleu
rouge1        higher val   rouge+1
rouge2        higher val   rouge+2
rougel        higher val   rouge+l rouge
rougelsum     higher val   rouge+lsum
meteor        higher val
cider         higher val
chrf          higher val
exact_match   higher val   em
hellaswag     higher val
core          higher val
mmlu          higher val
ndcg          higher val
mrr           higher val
pass_rate     higher val   pass+1
success_rate  higher train
reward        higher train rewards episode+reward ep+rew+mean return returns average+return ep+ret
reward        higher train mean+reward reward+mean episodic+return episode+return mean+return ep+reward
wer           lower  val
cer           lower  val
bpb           lower  val   bits+per+byte bpc bits+per+char bits+per+character
nats          lower  train nats+per+token nats+per+char nats+per+character
perplexity    lower  train ppl
mae           lower  train mean+absolute+error
mse           lower  train mean+squared+error
rmse          lower  train root+mean+squared+error
mape          lower  train
nll           lower  train
error         lower  train err error+rate class+error
elbo          higher train
""")
_UNITS = frozenset({"db", "pct", "percent"})  # PSNR (dB), "Val Acc (%)"
_BY_SPELLING = {spelling: metric for metric in _METRICS for spelling in metric.spellings}
_LONGEST_SPELLING = max(len(spelling) for spelling in _BY_SPELLING)


def _metric(rest: tuple[str, ...], role: str, tokens: tuple[str, ...]) -> str | None:
    ignored = _NAMESPACES | _PER_STEP | _COARSE | _UNITS | (_DATA_SETS if role else frozenset())
    kept = tuple(t for t in rest if t not in ignored)
    if role and kept == ("score",):
        return f"{role}/score"  # of what, and which way is better, is not said
    exact = _BY_SPELLING.get(kept)
    if exact and not role:
        role = "val" if tokens[0] in {"metrics", "metric"} else exact.side
    if exact:
        return f"{role}/{exact.name}" if role else exact.name
    found = _metric_in(kept)
    # Without a role, "feature_map_mean" is no average precision; with one, "eval_f1_macro" is an F1.
    role = role or ("val" if tokens and tokens[0] in {"metrics", "metric"} else "")
    return f"{role}/{'_'.join(kept)}" if found and role else None


def _metric_in(tokens: tuple[str, ...]) -> _Metric | None:
    """The metric a name speaks of, by the longest spelling among its tokens."""
    for length in range(min(_LONGEST_SPELLING, len(tokens)), 0, -1):
        for start in range(len(tokens) - length, -1, -1):
            metric = _BY_SPELLING.get(tokens[start : start + length])
            if metric:
                return metric
    return None
