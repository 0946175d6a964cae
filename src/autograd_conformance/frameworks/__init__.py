"""What can be tested: adapters, and the runner that drives them."""
