"""Canonical names: real spellings from public logs, and the ones that must not be mistaken."""

from __future__ import annotations

import pytest

from stethoscope.run.names import assign, better, canonical, held_out, held_out_twin, known, validated

SPELLINGS = {
    "loss": [
        "loss",
        "train_loss",
        "train/loss",
        "Loss/loss",
        "total_loss",
        "lm loss",
        "lm_loss",
        "l_g_total",
        "trl",
        "TL",
        "train/total_loss",
        "train_loss_step",
        "training_loss",
        "TRAIN_LOSS",
        "train loss",
        "loss/total",
        "trn_loss",
        "cost",
        "train/objective",
        "avr_loss",
        "moving avg loss",
        "cum_loss",
        "smoothed loss",
    ],
    "loss/l1": ["l_g_l1", "train/loss_l1", "l1_loss", "losses/l_g_l1", "loss/l1"],
    "loss/xent": ["xent", "train_xent", "train/xent"],
    "loss/bce": ["train_bce", "bce"],
    "val/loss/bce": ["dev_bce", "holdout/bce"],
    "loss/pix": ["l_pix", "l_g_pix", "loss_pix"],
    "loss/cls": ["loss_cls", "cls_loss", "train/cls_loss"],
    "loss/d_real": ["l_d_real"],
    "loss/bbox_0": ["train_loss_bbox_0"],
    "loss/pi": ["LossPi"],
    "loss/v": ["LossV"],
    "val/loss": [
        "val_loss",
        "eval_loss",
        "valid loss",
        "evaluation_loss",
        "VL",
        "tel",
        "loss/val",
        "DEV_LOSS",
        "valLoss",
        "holdout_loss",
        "Test set loss",
        "loss/test_split",
    ],
    "val/score": ["Validation score", "eval_score"],
    "val/loss/box": ["val/box_loss"],
    "weight/l1": ["dynamic_weight_l_g_l1", "weight/l1", "loss_weight_l1", "l1_weight"],
    "weight/mssim": ["dynamic_weight_l_g_mssim"],
    "lr": [
        "lr",
        "learning_rate",
        "train/learning_rate",
        "learning rate",
        "learning-rate",
        "LR",
        "current_lr",
        "train_lr",
        "x/lr0",
        "base_lr",
        "lr_g",
    ],
    "lr/adam": ["lr-Adam"],
    "grad_norm": [
        "grad_norm",
        "grad norm",
        "gnorm",
        "norm",
        "grad_norm_g",
        "train/grad_norm",
        "grad-norm",
        "grad_2.0_norm_total",
        "grad_norms/grad_norm_g",
        "gradient_norm",
    ],
    "grad_norm/d": ["grad_norm_d"],
    "loss_scale": ["loss_scale", "loss scale", "loss-scale", "scale_g", "train/grad_scale", "scales/scale_g"],
    "skipped": ["number of skipped iterations", "skipped", "skipped_steps"],
    "val/psnr": ["psnr", "val/psnr", "val_psnr", "PSNR (dB)", "Val PSNR"],
    "val/accuracy": ["Val Acc (%)", "val_acc", "eval_accuracy", "eval_top1", "test Acc@1"],
    "train/accuracy": ["accuracy", "train_acc", "acc"],
    "val/map50_95": ["metrics/mAP_0.5:0.95"],
    "val/rougel": ["eval_rougeL"],
    "val/f1_macro": ["eval_f1_macro"],
    "val/bpb": ["val_bpb", "Validation bpb"],
    "val/fid": ["results/fid50k_full", "fid"],
    "val/perplexity": ["val/perplexity", "eval_ppl"],
    "train/reward": ["ep_rew_mean", "AverageEpRet", "rollout/ep_rew_mean"],
    "throughput": ["samples_per_second", "train_samples_per_second", "tok/sec", "it/s"],
    "throughput/eval": ["eval_samples_per_second"],
    "runtime/eval": ["eval_runtime"],
    "step_time": ["time", "dt", "iter_time", "step_avg"],
    "data_time": ["data_time"],
    "mem": ["current_vram_gb", "Resources/peak_gpu_mem_gb"],
    "epoch": ["epoch", "train/epoch"],
    "difficulty": ["difficulty", "curriculum/difficulty"],
    "param_norm": ["param_norm", "weight_norm"],
}

UNKNOWN = [
    "lrm",
    "grad_clip_threshold",
    "out_d_real",
    "best_valid_loss",
    "checkpoint/best_loss",
    "weight_decay",
    "scale",
]
UNKNOWN += [
    "Loss/scores/fake",
    "Loss/signs/real",
    "Loss/r1_penalty",
    "fc.weight",
    "num_tokens",
    "Resources/cpu_mem_gb",
]
UNKNOWN += [
    "Timing/sec_per_kimg",
    "Timing/sec_per_tick",
    "feature_map_mean",
    "total_flos",
    "",
    "/",
    "x" * 5000,
]


@pytest.mark.parametrize(
    ("name", "logged"), [(n, spelling) for n, all_ in SPELLINGS.items() for spelling in all_]
)
def test_a_real_spelling_has_its_canonical_name(name: str, logged: str) -> None:
    assert canonical(logged) == name
    assert known(logged)


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_canonical_name_is_its_own(name: str) -> None:
    assert canonical(name) == name


@pytest.mark.parametrize("logged", UNKNOWN)
def test_an_unknown_name_stays_as_it_was_logged(logged: str) -> None:
    assert canonical(logged) == logged
    assert not known(logged)


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        *(
            (name, "higher")
            for name in ("val/psnr", "val/ssim", "val/accuracy", "train/reward", "val/map50_95")
        ),
        *((name, "higher") for name in ("val/g0_accuracy", "val/f1_macro", "val/set14_psnr", "val/core")),
        *((name, "lower") for name in ("val/loss", "loss", "loss/ssim", "val/loss/g0", "val/wer", "val/fid")),
        *((name, "lower") for name in ("val/perplexity", "val/lpips", "val/bpb", "val/mae", "train/error")),
        *(
            (name, None)
            for name in ("lr", "grad_norm", "throughput/eval", "runtime/eval", "mem", "weight/ssim")
        ),
        *((name, None) for name in ("epoch", "best_val_psnr", "ssim_weights_of_layer", "anything")),
    ],
)
def test_the_better_direction_of_a_metric_is_known(name: str, direction: str | None) -> None:
    assert better(name) == direction


def test_the_finer_of_two_losses_is_the_loss() -> None:
    names = assign({"train_loss_epoch": 1000, "train_loss_step": 640})
    assert names == {"train_loss_epoch": "train_loss_epoch", "train_loss_step": "loss"}


def test_a_summary_logged_once_does_not_displace_the_curve() -> None:
    assert assign({"train_loss": 1, "loss": 400}) == {"train_loss": "train_loss", "loss": "loss"}


def test_an_evaluated_training_loss_stands_beside_the_loss() -> None:
    assert assign({"train/loss": 20, "loss": 500}) == {"train/loss": "train/loss", "loss": "loss"}


def test_the_total_wins_over_a_plain_loss_and_nothing_is_merged() -> None:
    names = assign({"loss": 10, "total_loss": 10})
    assert names["total_loss"] == "loss"
    assert len(set(names.values())) == 2


def test_validation_wins_over_test() -> None:
    assert assign({"TEST_LOSS": 25, "DEV_LOSS": 25}) == {"TEST_LOSS": "TEST_LOSS", "DEV_LOSS": "val/loss"}


def test_the_first_group_speaks_for_the_learning_rate() -> None:
    assert assign({"lr/pg0": 5, "lr/pg1": 5}) == {"lr/pg0": "lr", "lr/pg1": "lr/pg1"}


def test_a_file_of_validation_says_so_by_its_whole_name() -> None:
    assert held_out("val")
    assert held_out("eval_metrics")
    assert not held_out("metrics")
    assert not held_out("test_run_7")
    assert not held_out("train_val")


def test_a_file_of_validation_differs_from_that_of_its_training_in_this_word() -> None:
    assert held_out_twin("val_run3", "train_run3")
    assert held_out_twin("fold2-valid-lr01", "fold2-training-lr01")
    assert not held_out_twin("val_run3", "train_run4")
    assert not held_out_twin("run3", "run3")
    assert not held_out_twin("train_run3", "val_run3")


def test_a_training_name_can_be_of_validation() -> None:
    assert [validated(n) for n in ("loss", "loss/l1", "train/accuracy", "lr", "val/loss")] == [
        "val/loss",
        "val/loss/l1",
        "val/accuracy",
        "lr",
        "val/loss",
    ]


@pytest.mark.parametrize(
    ("logged", "name"),
    [
        ("Verlust", "loss"),
        ("Trainingsverlust", "loss"),
        ("Validierungsverlust", "val/loss"),
        ("Validierungsgenauigkeit", "val/accuracy"),
        ("Test-Genauigkeit", "val/accuracy"),
        ("Lernrate", "lr"),
        ("\u8bad\u7ec3\u635f\u5931", "loss"),
        ("\u603b\u635f\u5931", "loss"),
        ("\u9a8c\u8bc1\u96c6\u4e0a\u7684\u635f\u5931\u503c", "val/loss"),
        ("\u9a8c\u8bc1\u51c6\u786e\u7387", "val/accuracy"),
        ("\u6d4b\u8bd5 acc", "val/accuracy"),
        ("\u5b66\u4e60\u7387", "lr"),
    ],
)
def test_words_of_other_languages_are_known(logged: str, name: str) -> None:
    assert canonical(logged) == name


@pytest.mark.parametrize("logged", ["Verlustrate", "contest", "latest", "\u635f\u4f24", "Gesamtzeit"])
def test_a_word_that_only_holds_a_known_one_is_unknown(logged: str) -> None:
    assert canonical(logged) == logged


def test_a_metric_under_a_heading_that_is_logged_rarely_was_held_out() -> None:
    counts = {"total_loss": 70, "loss_cls": 70, "bbox/mIoU": 14, "cls/accuracy": 14, "lr": 70}
    names = assign(counts)
    assert names["bbox/mIoU"] == "val/bbox_iou"
    assert names["cls/accuracy"] == "val/cls_accuracy"
    assert better("val/bbox_iou") == "higher"


def test_a_metric_under_a_heading_keeps_its_name_where_others_say_their_role() -> None:
    assert assign({"loss": 70, "val_loss": 7, "bbox/mIoU": 7})["bbox/mIoU"] == "bbox/mIoU"
    assert assign({"loss": 70, "bbox/mIoU": 70})["bbox/mIoU"] == "bbox/mIoU"


def test_what_is_evaluated_on_training_data_is_no_validation() -> None:
    assert canonical("train_eval_loss") == "train/loss"
    assert canonical("train_eval/acc") == "train/accuracy"
    assert canonical("eval_train/loss") == "train/loss"
    assert canonical("train/eval_loss") == "val/loss"
    assert canonical("eval/loss") == "val/loss"


def test_of_two_evaluations_the_one_that_says_training_is_of_training_data() -> None:
    assert assign({"loss": 100, "train/eval_loss": 10, "val_loss": 10}) == {
        "loss": "loss",
        "train/eval_loss": "train/loss",
        "val_loss": "val/loss",
    }
