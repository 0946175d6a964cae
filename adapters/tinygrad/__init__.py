"""The adapter for tinygrad, and the code that it prints programs as."""
