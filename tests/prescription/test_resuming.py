"""How a run is gone on with, as its launcher, its parser, its framework or its settings say."""

from __future__ import annotations

import ast
from pathlib import Path

from stethoscope.causes import Explanation
from stethoscope.findings import Examination
from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import CheckpointAdvice
from stethoscope.prescription.resuming import Resume, resume_from
from stethoscope.recipe import read_settings
from stethoscope.run import Checkpoint, ConfigFile, Holds, Program, Recipe, Run, Source

MAIN = "if __name__ == '__main__':\n"
CHECKPOINT = "runs/one/step_200.pt"
LOOP = """
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        step = state["step"]
    for step in range(step, 100):
        batch = next(iter(loader))
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
"""
SCRIPT = f"""\
import argparse
import torch

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--resume", default=None)
    args = parser.parse_args()
    model = torch.nn.Linear(4, 1)
    loader = torch.utils.data.DataLoader(range(8))
{LOOP}

if __name__ == "__main__":
    main()
"""


def resumed(
    sources: dict[str, str],
    configs: dict[str, str] | None = None,
    checkpoints: tuple[Checkpoint, ...] = (),
    path: str = CHECKPOINT,
) -> Resume:
    program = Program(
        ".",
        tuple(Source(file, Path(file).stem, text, ast.parse(text)) for file, text in sources.items()),
    )
    files = []
    for file, text in (configs or {}).items():
        syntax = {"sh": "shell", "yml": "yaml", "toml": "toml"}[file.rpartition(".")[2]]
        origin = "launcher" if syntax == "shell" else "repository"
        files.append(ConfigFile(file, text, origin, syntax))
    settings = tuple(one for file in files for one in read_settings(file.text, file.file, file.syntax))
    run = Run(
        "runs/one", "one", recipe=Recipe(settings, tuple(files)), program=program, checkpoints=checkpoints
    )
    case = Case(run, Examination((), (), ()), Explanation((), (), 0.0, 0.0, ()))
    return resume_from(CheckpointAdvice(path, 200, "the best", ("optimizer moments",)), case)


def test_an_option_of_the_scripts_own_parser() -> None:
    resume = resumed({"train.py": SCRIPT})
    assert resume.command == f"python train.py --resume {CHECKPOINT}"
    assert "give the other options of the first call" in resume.how
    assert resume.where[0].line == 7


def test_the_launcher_has_the_rest_of_the_command() -> None:
    launcher = "LR=3e-4\ntorchrun --nproc_per_node=2 train.py --lr $LR --resume old.pt\n"
    resume = resumed({"train.py": SCRIPT}, {"run.sh": launcher})
    assert resume.command == f"torchrun --nproc_per_node=2 train.py --lr 3e-4 --resume {CHECKPOINT}"
    assert resume.how == "the script has the option --resume"


def test_a_launcher_that_hands_its_arguments_on() -> None:
    resume = resumed({"train.py": SCRIPT}, {"run.sh": 'torchrun --nproc_per_node=$(nproc) train.py "$@"\n'})
    assert resume.command == f"bash run.sh --resume {CHECKPOINT}"


def test_an_option_that_nothing_acts_on_is_not_advised() -> None:
    dead = SCRIPT.replace("args.resume", "None")
    resume = resumed({"train.py": dead})
    assert resume.command is None
    assert "nothing acts on it" in resume.how


def test_a_switch_finds_its_own_checkpoint() -> None:
    switch = SCRIPT.replace('"--resume", default=None', '"--resume", action="store_true"')
    switch = switch.replace("torch.load(args.resume)", 'torch.load("last.pt")')
    resume = resumed({"train.py": switch})
    assert resume.command == "python train.py --resume"
    assert "may be another checkpoint" in resume.how


def test_what_the_source_never_loads_is_lost() -> None:
    assert "optimizer moments: the source never loads it" in resumed({"train.py": SCRIPT}).loses


def test_the_command_line_of_lightning() -> None:
    source = "from lightning.pytorch.cli import LightningCLI\n\n" + MAIN + "    LightningCLI(Net)\n"
    resume = resumed({"main.py": source}, {"config.yml": "lr: 1.0\n"}, path="a b.ckpt")
    assert resume.command == "python main.py fit --config config.yml --ckpt_path 'a b.ckpt'"


def test_the_call_of_a_lightning_trainer() -> None:
    source = "import lightning as L\n\n" + MAIN + "    trainer = L.Trainer()\n    trainer.fit(Net())\n"
    resume = resumed({"main.py": source})
    assert resume.command == "python main.py"
    assert resume.first == f"give ckpt_path='{CHECKPOINT}' to trainer.fit() (main.py:5)"


def test_the_trainer_of_transformers_is_told_by_its_arguments() -> None:
    source = (
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\n"
        "def main():\n"
        "    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        "    trainer = Trainer(model, args)\n"
        "    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    resume = resumed({"run_clm.py": source}, path="out/checkpoint-200")
    assert resume.command == "python run_clm.py --resume_from_checkpoint out/checkpoint-200"


BASICSR = "path:\n  pretrain_network_g: ~\n  resume_state: ~\ntrain:\n  total_iter: 1000\n"
TRAIN_PY = (
    'import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument("-opt")\n'
    'parser.add_argument("--launcher")\nif __name__ == "__main__":\n    train_pipeline(parser)\n'
)


def test_the_state_of_basicsr_is_named_in_the_settings() -> None:
    state = Checkpoint("experiments/one/training_states/200.state", 200, Holds.TRAINING_STATE)
    resume = resumed({"train.py": TRAIN_PY}, {"options.yml": BASICSR}, (state,))
    assert resume.first == f"set path.resume_state to {state.file} (options.yml:3)"
    assert resume.command == "python train.py -opt options.yml"


def test_without_a_state_the_weights_are_all_there_is() -> None:
    resume = resumed({"train.py": TRAIN_PY}, {"options.yml": BASICSR})
    assert resume.first.startswith(f"set path.pretrain_network_g to {CHECKPOINT}")
    assert any("no training state was saved" in loss for loss in resume.loses)


def test_what_accelerate_loads() -> None:
    source = (
        "from accelerate import Accelerator\n\n"
        "def main(folder):\n    accelerator = Accelerator()\n    accelerator.load_state(folder)\n\n"
        f"{MAIN}    main('kept')\n"
    )
    resume = resumed({"train.py": source}, path="out/checkpoint-200")
    assert resume.first == "let folder be out/checkpoint-200 (train.py:5)"
    assert resume.command == "python train.py"


def test_a_file_that_the_source_looks_for_by_itself() -> None:
    source = SCRIPT.replace('    parser.add_argument("--resume", default=None)\n', "")
    source = source.replace("if args.resume:", 'if os.path.exists("last.pt"):')
    source = source.replace("torch.load(args.resume)", 'torch.load("last.pt")').replace(
        "import torch", "import os\nimport torch"
    )
    resume = resumed({"train.py": source})
    assert resume.command == "python train.py"
    assert resume.first.startswith(f"put {CHECKPOINT} where `")
    assert resume.first.endswith("(train.py:16)")


def test_not_knowing_is_an_answer() -> None:
    resume = resumed({"train.py": "import torch\n"})
    assert resume.command is None
    assert "is not known" in resume.how
    assert resume.loses == ("optimizer moments",)
