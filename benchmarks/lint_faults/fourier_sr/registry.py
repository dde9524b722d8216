class Registry:
    def __init__(self, name):
        self._name = name
        self._table = {}

    def register(self, cls):
        if cls.__name__ in self._table:
            raise KeyError(f"{cls.__name__} is already in {self._name}")
        self._table[cls.__name__] = cls
        return cls

    def build(self, opt):
        opt = dict(opt)
        return self._table[opt.pop("type")](**opt)


ARCH_REGISTRY = Registry("arch")
LOSS_REGISTRY = Registry("loss")
