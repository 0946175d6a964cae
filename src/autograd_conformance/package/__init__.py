"""The suite as an installed package: its paths, its version and digest, moved modules, private names of libraries."""
