"""Changed programs that tell where a fault is: the nearest one that passes, and the op without which none fails."""
