"""The adapter for Chainer, and the code that it prints programs as."""
