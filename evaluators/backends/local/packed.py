"""Float32 weights packed for oneDNN, as torch's compiler does it: on many CPUs the products take less time."""

from collections import Counter

import torch
from torch import nn
from typing_extensions import override

# Smaller weights gain less than the call costs.
_LEAST = 2**17


class PackedLinear(nn.Linear):
    """A linear layer that can only be applied: its weight is packed."""

    @override
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        packed: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, self.weight, self.bias, "none", [], "")
        return packed


def pack(model: nn.Module) -> None:
    """Pack the large weights of a model's linear layers in place, but for those that other layers use too."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    for layer in model.modules():
        # Subclasses may do more with a weight, or have it quantized; accelerate's hooks replace `forward`.
        if type(layer) is not nn.Linear or "forward" in vars(layer) or type(weight := layer.weight) is not nn.Parameter:
            continue
        is_on_cpu = weight.device.type == "cpu" and weight.dtype is torch.float32
        if is_on_cpu and weight.numel() >= _LEAST and uses[id(weight)] == 1:
            packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
            layer.weight = nn.Parameter(packed, requires_grad=False)
            layer.__class__ = PackedLinear
