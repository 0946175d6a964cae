"""Drafts of programs, and the drawing of ops, tensors, actions and optimizers into them."""
