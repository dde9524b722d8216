import yaml

DEFAULTS = {
    "model": {"width": 64, "layers": 2},
    "optim": {"lr": 1e-3, "weight_decay": 0.0, "epochs": 10},
    "data": {"batch_size": 16, "workers": 0},
}


def load_config(path):
    with open(path) as f:
        user = yaml.safe_load(f)
    cfg = {section: {**values, **user.get(section, {})} for section, values in DEFAULTS.items()}
    cfg["optim"]["weight_decay"] = 1e-4  #@
    return cfg
