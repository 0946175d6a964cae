"""The adapter for Apache MXNet, and the code that it prints programs as."""
