"""`python -m discreet.cli`, where the command `discreet` is not on the path."""

from discreet.cli import main

main()
