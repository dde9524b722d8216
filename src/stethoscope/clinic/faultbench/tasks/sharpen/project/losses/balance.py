"""Weights of the terms of the loss."""


class LossBalance:
    """Holds one weight for each term, and moves them if asked to.

    With `dynamic` each auxiliary term is led to a fixed share of the pixel loss: its weight follows
    share * pixel / term, slowly, and within bounds.
    """

    def __init__(self, weights, dynamic=False, share=0.2, rate=0.05, max_weight=2.0):
        self.weights = dict(weights)
        self.dynamic = dynamic
        self.share, self.rate, self.max_weight = share, rate, max_weight

    def update(self, parts):
        if not self.dynamic:
            return
        pixel = parts["l_pix"].detach().item()
        for name in parts:
            if name == "l_pix":
                continue
            term = parts[name].detach().item()
            target = self.share * pixel / max(term, 1e-6)
            moved = self.weights[name] + self.rate * (target - self.weights[name])
            self.weights[name] = min(max(moved, 1e-3), self.max_weight)

    def apply(self, parts):
        return {name: self.weights[name] * value for name, value in parts.items()}

    def state_dict(self):
        return dict(self.weights)

    def load_state_dict(self, state):
        self.weights.update(state)
