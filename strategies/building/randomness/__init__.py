"""Draws numbers and list elements: the choices, their independent backend, and the pool of earlier regions."""
