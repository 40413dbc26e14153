"""Language models as policies, and how they learn: rollouts, GRPO, training runs.

The modules are imported by name, so that `import execgym` needs no torch.
"""
