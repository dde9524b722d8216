"""traiNNer-redux: super-resolution training by YAML, read into strict structs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from stethoscope.recipe.schemas._sections import Held, Sections
from stethoscope.recipe.schemas._table import Name, Record, Table

FRAMEWORK = "traiNNer-redux"
# It is run from a checkout: where the source is there, its own option classes say what they know.
PACKAGES = ("traiNNer",)

SECTIONS: dict[str, frozenset[str]] = {
    "": frozenset(
        {
            *(
                "name",
                "scale",
                "num_gpu",
                "path",
                "datasets",
                "train",
                "val",
                "logger",
                "onnx",
                "dist_params",
            ),
            *("network_g", "network_g_teacher", "network_d", "network_ae"),
            *("input_pixel_format", "output_pixel_format", "manual_seed", "deterministic", "contents"),
            *("dist", "launcher", "rank", "world_size", "auto_resume", "watch", "start_iter", "is_train"),
            *("root_path", "switch_iter_per_epoch", "find_unused_parameters", "use_amp", "amp_bf16"),
            *("use_channels_last", "fast_matmul", "use_compile", "compile_mode", "detect_anomaly"),
            *(
                "high_order_degradation",
                "high_order_degradations_debug",
                "high_order_degradations_debug_limit",
            ),
            *("dataroot_lq_prob", "lq_usm", "lq_usm_radius_range", "queue_size"),
            *("blur_prob", "resize_prob", "resize_mode_list", "resize_mode_prob", "resize_range"),
            *(
                "gaussian_noise_prob",
                "noise_range",
                "poisson_scale_range",
                "gray_noise_prob",
                "jpeg_prob",
                "jpeg_range",
            ),
            *("blur_prob2", "resize_prob2", "resize_mode_list2", "resize_mode_prob2", "resize_range2"),
            *("gaussian_noise_prob2", "noise_range2", "poisson_scale_range2", "gray_noise_prob2"),
            *("jpeg_prob2", "jpeg_range2", "resize_mode_list3", "resize_mode_prob3"),
        }
    ),
    "path": frozenset(
        {
            *("experiments_root", "models", "resume_models", "training_states", "log", "visualization"),
            *("results_root", "resume_state", "ignore_resume_networks"),
            *(
                "pretrain_network_g",
                "pretrain_network_g_teacher",
                "pretrain_network_g_path",
                "pretrain_network_g_ema",
            ),
            *("param_key_g", "strict_load_g", "pretrain_network_d", "param_key_d", "strict_load_d"),
            *("pretrain_network_ae", "pretrain_network_ae_path", "pretrain_network_ae_ema"),
            *("pretrain_network_ae_decoder", "pretrain_network_ae_decoder_ema"),
        }
    ),
    "datasets.*": frozenset(
        {
            *(
                "name",
                "type",
                "io_backend",
                "num_worker_per_gpu",
                "batch_size_per_gpu",
                "accum_iter",
                "use_hflip",
            ),
            *(
                "use_rot",
                "mean",
                "std",
                "gt_size",
                "lq_size",
                "color",
                "phase",
                "scale",
                "dataset_enlarge_ratio",
            ),
            *("prefetch_mode", "pin_memory", "persistent_workers", "num_prefetch_queue", "prefetch_factor"),
            *("clip_size", "dataroot_gt", "dataroot_lq", "meta_info", "filename_tmpl"),
            *("blur_kernel_size", "kernel_list", "kernel_prob", "kernel_range", "sinc_prob", "blur_sigma"),
            *(
                "betag_range",
                "betap_range",
                "blur_kernel_size2",
                "kernel_list2",
                "kernel_prob2",
                "kernel_range2",
            ),
            *(
                "sinc_prob2",
                "blur_sigma2",
                "betag_range2",
                "betap_range2",
                "final_sinc_prob",
                "final_kernel_range",
            ),
        }
    ),
    "train": frozenset(
        {
            *("total_iter", "warmup_iter", "scheduler", "restart_scheduler", "losses"),
            *("optim_g", "optim_d", "optim_ae", "optim_include_params_g", "optim_exclude_params_g"),
            *("ema_decay", "ema_switch_iter", "ema_update_after_step", "ema_power"),
            *(
                "grad_clip",
                "grad_clip_max_norm",
                "adaptive_d",
                "adaptive_d_ema_decay",
                "adaptive_d_threshold",
            ),
            *("pixel_opt", "mssim_opt", "ms_ssim_l1_opt", "perceptual_opt", "contextual_opt", "dists_opt"),
            *(
                "hr_inversion_opt",
                "dinov2_opt",
                "topiq_opt",
                "pd_opt",
                "fd_opt",
                "ldl_opt",
                "hsluv_opt",
                "gan_opt",
            ),
            *("color_opt", "luma_opt", "avg_opt", "bicubic_opt"),
            *("use_moa", "moa_augs", "moa_probs", "moa_debug", "moa_debug_limit"),
        }
    ),
    "val": frozenset(
        {
            *(
                "val_enabled",
                "val_freq",
                "save_img",
                "tile_size",
                "tile_overlap",
                "suffix",
                "metrics_enabled",
            ),
            *("metrics", "pbar"),
        }
    ),
    "logger": frozenset(
        {"print_freq", "save_checkpoint_freq", "use_tb_logger", "save_checkpoint_format", "wandb"}
    ),
    "logger.wandb": frozenset({"project", "resume_id"}),
}

# Key -> the day of the change that brought it, and the change.
SINCE: dict[str, tuple[str, str]] = {
    "train.grad_clip_max_norm": ("2026-02-18", "commit b834bf2f"),
}

# Keys that a fork has and the project itself has not.
FORKS: frozenset[str] = frozenset(
    {"train.dynamic_loss_scheduling", "train.training_automations", "auto_vram_management"}
)
# Degradations that forks add at the top level are all called so.
FORK_ENDINGS = ("_prob", "_range", "_formats", "_weights", "_strength", "_size")

# The keys that a file must have, and keys of which it has at least one.
_REQUIRED = frozenset({"name", "num_gpu", "network_g", "datasets", "train", "logger"})
_TELLING = frozenset({"use_amp", "amp_bf16", "use_channels_last", "fast_matmul", "use_compile"})
_BEFORE_ALL = "2000-01-01"  # a day before any checkout


def held(parted: Sections) -> Iterator[Held]:
    """The sections of a file of this framework; its ancestor BasicSR names a `model_type` besides."""
    top = parted.names()
    telling = top & _TELLING or "losses" in parted.names("train")
    if not (top >= _REQUIRED and "model_type" not in top and telling):
        return
    for section, record in checkouts().records.items():
        above = tuple(section.removesuffix("*").rstrip(".").split(".")) if section else ()
        for path in parted.below(*above) if section.endswith("*") else (above,):
            own = {key.rpartition(".")[2] for key in FORKS if key.rpartition(".")[0] == section}
            own |= {name for name in top if not section and name.endswith(FORK_ENDINGS)}
            yield Held(path, record, frozenset(own))


@cache
def checkouts() -> Table:
    """The sections as a table over days: a checkout has no version."""
    days = sorted({day for day, _ in SINCE.values()})
    changes = dict(SINCE.values())
    made = Table(FRAMEWORK, "", (_BEFORE_ALL, *days), by_minor=False, changes=changes)
    for section, names in SECTIONS.items():
        entries = {name: Name(since=_day(f"{section}.{name}".strip("."))) for name in sorted(names)}
        made.records[section] = Record(section, made, entries)
    return made


def _day(key: str) -> str:
    return SINCE[key][0] if key in SINCE else ""
