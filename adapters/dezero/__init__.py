"""The adapter for DeZero, and the code that it prints programs as."""
