"""The adapter for PaddlePaddle, and the code that it prints programs as."""
