"""PyTorch's modes: eager PyTorch that runs regions as functions, compiled, checkpointed or both, and `torch.func`."""
