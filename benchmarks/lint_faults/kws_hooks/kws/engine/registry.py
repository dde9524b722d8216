class Registry:
    def __init__(self, name):
        self.name, self._items = name, {}

    def register(self, cls):
        self._items[cls.__name__] = cls
        return cls

    def build(self, cfg, **extra):
        cfg = dict(cfg)
        kind = cfg.pop("type")
        if kind not in self._items:
            raise KeyError(f"{kind} is not in the registry of {self.name}")
        return self._items[kind](**cfg, **extra)


MODELS = Registry("models")
DATASETS = Registry("datasets")
TRANSFORMS = Registry("transforms")
HOOKS = Registry("hooks")
WRAPPERS = Registry("optimizer wrappers")
