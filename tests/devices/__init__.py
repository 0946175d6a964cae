"""The example device, and faulty ones made of it: what the suite is worth to the maker of a backend of PyTorch."""
