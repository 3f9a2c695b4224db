"""`python -m mbndt`: the command line, where no script of its own is on the path."""

from mbndt.cli.main import main

if __name__ == "__main__":
    main()
