"""The process and machine that a framework runs in: devices, caches, environment variables, signals and exits."""
