"""Worked examples: small frameworks and a device, each with its adapter."""
