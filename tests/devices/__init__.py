"""The example device, and variants of it with one fault each: does the suite find faults of a PyTorch backend?"""
