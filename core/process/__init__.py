"""What runs beside a command: deadlines, background processes, process groups, a model as a command,
optional packages."""
