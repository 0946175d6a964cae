"""The sixth set: 75 faults, by one author, 43 of them transplants of bugs of real frameworks."""
