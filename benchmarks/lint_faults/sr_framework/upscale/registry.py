class Registry:
    """Maps names found in an option file to classes."""

    def __init__(self, name):
        self.name = name
        self._entries = {}

    def register(self):
        def deco(obj):
            self._entries[obj.__name__] = obj
            return obj

        return deco

    def get(self, name):
        if name not in self._entries:
            raise KeyError(f"{name} not found in the {self.name} registry")
        return self._entries[name]


ARCH_REGISTRY = Registry("arch")
LOSS_REGISTRY = Registry("loss")
MODEL_REGISTRY = Registry("model")


def build(registry, opt):
    opt = dict(opt)
    return registry.get(opt.pop("type"))(**opt)
