"""What a program is, and what was seen of one."""
