import torch.nn as nn


class DistillLoss(nn.Module):
    def __init__(self, alpha=0.5, T=2.0):
        super().__init__()
        self.alpha, self.T = alpha, T
        self.hard = nn.CrossEntropyLoss() #@
        self.soft = nn.KLDivLoss(reduction="batchmean")

    def forward(self, student_logits, teacher_logits, labels):
        student_probs = student_logits.softmax(dim=1) #@
        hard = self.hard(student_probs, labels) #@
        log_p = (student_logits / self.T).log_softmax(dim=1)
        q = (teacher_logits / self.T).softmax(dim=1)
        return self.alpha * hard + (1 - self.alpha) * self.T ** 2 * self.soft(log_p, q)
