"""What runs beside a command: background processes, process groups, a model as a command, optional packages."""
