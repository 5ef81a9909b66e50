"""What runs beside a command: a child in which it goes on, background processes, process groups, a model as a command,
optional packages."""

import os


def go_on_in_child() -> None:
    """End this process with status 0; a child returns, in a session of its own and without the standard streams.

    Locks that are held (`flock`) pass to the child. Without a process left, this one goes on without the streams.
    """
    try:
        if os.fork():
            os._exit(0)
        os.setsid()  # a client that ends its hook's group, or its terminal, does not end this
    except OSError:
        pass
    close_streams()


def close_streams() -> None:
    """Lead stdin, stdout and stderr nowhere: who reads them is at their end."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
