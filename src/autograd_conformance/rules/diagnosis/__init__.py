"""What would explain a wrong gradient: faults of the graph, and of the state around it."""
