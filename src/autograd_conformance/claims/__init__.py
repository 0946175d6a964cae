"""Claims that articles make about autograd, and facts about PyTorch, each with programs that test it."""
