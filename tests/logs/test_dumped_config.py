"""Settings that a log prints are found, and read with the lines they stand on."""

# Lines are as long as programs print them.

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.logs._text.dumped_config import DumpedSettings, may_begin
from stethoscope.recipe import read_settings
from stethoscope.run import Document


def documents(text: str) -> tuple[Document, ...]:
    found = DumpedSettings("x.log")
    for number, line in enumerate(text.split("\n"), 1):
        found.see(number, line, None)
    return found.documents()


def settings(text: str) -> dict[str, tuple[object, int | None]]:
    (document,) = documents(text)
    read = read_settings(document.text, document.file, document.syntax, document.first_line)
    return {setting.dotted: (setting.value, setting.where.line) for setting in read}


def test_a_namespace_is_read_wherever_it_stands_in_its_line() -> None:
    found = settings(
        "starting\n2024-01-01 12:00:00,123 INFO args: Namespace(lr=1e-05, betas=(0.9, 0.999), name='a', resume=None, "
        "fp16=True, device=device(type='cuda'), fn=<function f at 0x7f00>)\ntraining\n"
    )
    assert found["lr"] == (1e-05, 2)
    assert found["betas.1"] == (0.999, 2)
    assert found["resume"] == (None, 2)
    assert found["fp16"] == (True, 2)
    assert found["device"][0] == "device(type='cuda')"
    assert found["fn"][0] == "<function f at 0x7f00>"


def test_megatron_and_deepspeed_print_dots() -> None:
    found = settings(
        "------------------------ arguments ------------------------\n"
        "  adam_beta1 ...................................... 0.9\n"
        "  bf16 ............................................ False\n"
        "  data_path ....................................... ['a', 'b']\n"
        "  lr .............................................. 1e-05\n"
        "  seed ............................................ 1234\n"
        "-------------------- end of arguments ---------------------\n"
    )
    assert found["adam_beta1"] == (0.9, 2)
    assert found["data_path.1"] == ("b", 4)
    assert found["lr"] == (1e-05, 5)
    prefix = "[2023-01-01 12:00:00,001] [INFO] [config.py:957:print]   "
    found = settings(
        "".join(
            prefix + line + "\n"
            for line in (
                "amp_enabled .................. False",
                "autotuning_config ............ {",
            )
        )
        + '    "enabled": false\n}\n'
        + "".join(
            prefix + line + "\n"
            for line in (
                "gradient_clipping ............ 1.0",
                "loss_scale ................... 0",
                "train_batch_size ............. 32",
            )
        )
    )
    assert found["train_batch_size"] == (32, 7)
    assert "autotuning_config" not in found


def test_a_printed_dict_and_json_keep_their_lines() -> None:
    found = settings(
        "INFO\t{'train': {'lr': 2e-4, 'fp16': True, 'betas': (0.8, 0.99)}, 'seed': 1, 'x': None}\n"
    )
    assert found["train.lr"] == (2e-4, 1)
    assert found["train.betas.0"] == (0.8, 1)
    assert found["x"] == (None, 1)
    found = settings(
        'conf\nINFO {\n  "lr": 0.1,\n  "best_valid_loss": "inf",\n  "seed": 42,\n  "a": {"epochs": 3}\n}\nend\n'
    )
    assert found["lr"] == (0.1, 3)
    assert found["a.epochs"] == (3, 6)
    found = settings(
        "{'lr': 0.1,\n 'model': {'name': \"it's\",\n           'layers': [1, 2]},\n 'seed': 3}\n"
    )
    assert found["model.name"] == ("it's", 2)
    assert found["model.layers.1"] == (2, 3)
    assert found["seed"] == (3, 4)


def test_training_arguments_are_printed_without_quotes() -> None:
    found = settings(
        "Training/evaluation parameters TrainingArguments(\n_n_gpu=1,\nadam_beta1=0.9,\nlearning_rate=5e-05,\n"
        "output_dir=./out,\nhub_strategy=HubStrategy.EVERY_SAVE,\nreport_to=[],\nseed=42,\n)\n"
    )
    assert found["learning_rate"] == (5e-05, 4)
    assert found["output_dir"] == ("./out", 5)
    assert found["seed"] == (42, 8)


def test_mmengine_prints_python() -> None:
    found = settings(
        "2024/01/01 12:00:00 - mmengine - INFO - Config:\nauto_scale_lr = dict(base_batch_size=16, enable=False)\n"
        "backend_args = None\nmodel = dict(\n    backbone=dict(depth=50, frozen_stages=1),\n    type='RetinaNet')\n"
        "optim_wrapper = dict(\n    optimizer=dict(lr=0.01, momentum=0.9, type='SGD', weight_decay=0.0001),\n"
        "    type='OptimWrapper')\nresume = False\nval_interval = 1\nwork_dir = './work'\n\n"
        "2024/01/01 12:00:05 - mmengine - INFO - Start\n"
    )
    assert found["optim_wrapper.optimizer.lr"] == (0.01, 8)
    assert found["model.backbone.depth"] == (50, 5)
    assert found["backend_args"] == (None, 3)
    assert found["work_dir"] == ("./work", 12)


def test_yaml_and_listings() -> None:
    found = settings(
        "[2024-01-01 12:00:00,000][__main__][INFO] - hello\ntrain:\n  lr: 1e-05\n  betas:\n  - 0.9\n  - 0.99\nseed: 1\nmodel:\n  name: x\nepoch 1\n"
    )
    assert found["train.lr"] == (1e-05, 3)
    assert found["train.betas.1"] == (0.99, 6)
    found = settings(
        "----------------- Options ---------------\n               batch_size: 1                             \n"
        "                    beta1: 0.5                           \t[default: 0.9]\n                       lr: 0.0002\n"
        "                    model: cycle_gan\n                 save_dir: ./checkpoints\n----------------- End -------------------\n"
    )
    assert found["beta1"] == (0.5, 3)
    assert found["lr"] == (0.0002, 4)
    found = settings(
        "".join(
            f"INFO:root:{key}\n" if False else f"2024-01-01 12:00:00,123 INFO {key}\n"
            for key in ("lr: 0.1", "batch_size: 4", "seed: 1", "epochs: 3", "optimizer: adam")
        )
    )
    assert found["batch_size"] == (4, 2)
    assert found["optimizer"] == ("adam", 5)


def test_nanogpt_overrides() -> None:
    found = settings(
        "Overriding: batch_size = 32\nOverriding: learning_rate = 0.0006\ntokens per iteration will be: 9\n"
    )
    assert found == {"batch_size": (32, 1), "learning_rate": (0.0006, 2)}


def test_the_same_settings_printed_again_are_one_document() -> None:
    assert len(documents("Namespace(lr=0.1, seed=1)\nepoch 1\n" * 40)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "loss: 0.3\nlr: 0.1\nepoch: 1\nacc: 0.5\nloss: 0.2\nlr: 0.1\nepoch: 2\nacc: 0.6\n",
        "{'loss': 0.3, 'learning_rate': 1e-05, 'epoch': 0.1}\n" * 5,
        "Step: 1\nLoss: 0.4\nTime: 3\nLR: 0.1\nModel: x\n",
        "class Hyperparameters:\n    batch_size : int = 8*64\n    device_batch_size : int = 64\n    lr : float = 0.1\n    weight_decay : float = 0\n    warmup : int = 0\n",
        "Arguments:\n    lr: The learning rate used by the internal SGD.\n    momentum: The momentum used by the internal SGD.\n    seed: The seed of it.\n    device: The device is used.\n",
        "    self.lr = torch.tensor(0.0)\n    self.seed = torch.tensor(1)\n    self.model = GPT(x)\n    self.device = x(y)\n    self.amp = z(1)\n",
        "Conv2d(3, 64, stride=1)\n" * 10,
        "note: this\nwarning: that\nerror: other\nhint: more\nfile: a\n",
        "epoch: 1, lr: 1.0 - train loss: 2.67 - valid loss: 1.85\n" * 6,
        "{\n" * 5_000,
        "Namespace(lr=0.1, seed=" + "(" * 500 + "\n",
    ],
)
def test_what_measures_and_what_is_source_is_no_setting(text: str) -> None:
    assert documents(text) == ()


def test_a_block_is_open_until_it_ends() -> None:
    found = DumpedSettings("x.log")
    assert may_begin("INFO {")
    found.see(1, "INFO {", None)
    assert found.is_open
    found.see(2, '"lr": 1, "seed": 2}', None)
    assert not found.is_open
    assert len(found.documents()) == 1
    assert not may_begin("step 10 loss 0.3")


@given(
    st.lists(
        st.sampled_from(
            [
                "Namespace(lr=0.1, seed=1)",
                "{",
                "}",
                "{'lr': 1,",
                "'seed': 2}",
                "a = dict(",
                "lr = 1",
                ")",
                "lr: 1",
                "  seed: 2",
                "- x",
                "model:",
                "TrainingArguments(",
                "lr=1,",
                "Overriding: lr = 1",
                "  lr ..... 1",
                "-----",
                "",
                "\x00",
                "'",
                '"',
                "lr: &a *a",
            ]
        )
        | st.text(max_size=20),
        max_size=30,
    )
)
def test_any_lines_are_read_or_let_go(lines: list[str]) -> None:
    for document in documents("\n".join(lines)):
        assert document.text.count("\n") <= len(lines) + 2
        read_settings(document.text, document.file, document.syntax, document.first_line)
