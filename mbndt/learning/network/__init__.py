"""The paper's network: learned as a whole, pruned to rules."""
