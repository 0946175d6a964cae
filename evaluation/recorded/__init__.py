"""Makes the recorded programs: draws programs from all tests, and keeps those in which new interactions occur."""
