"""The adapter for MyGrad, and the code that it prints programs as."""
