class Registry:
    def __init__(self, name):
        self._name, self._items = name, {}

    def register(self):
        def deco(obj):
            assert obj.__name__ not in self._items, f"{obj.__name__} is already in {self._name}"
            self._items[obj.__name__] = obj
            return obj

        return deco

    def build(self, opt, **extra):
        opt = dict(opt)
        return self._items[opt.pop("type")](**opt, **extra)


ARCH_REGISTRY = Registry("arch")
LOSS_REGISTRY = Registry("loss")
DATASET_REGISTRY = Registry("dataset")
