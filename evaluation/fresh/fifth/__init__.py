"""The fifth set: 53 faults, by one author, most of them transplants of fixed bugs of real frameworks."""
