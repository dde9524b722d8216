# ruff: noqa
import json

out_dir = "out"
batch_size = 12
gradient_accumulation_steps = 5 * 8
learning_rate = 6e-4
decay_lr = True
beta2 = 0.95
config_keys = [
    k for k, v in globals().items() if not k.startswith("_") and isinstance(v, (int, float, bool, str))
]
exec(open("configurator.py").read())
config = {k: globals()[k] for k in config_keys}
if __name__ == "__main__":
    print(json.dumps(config))
