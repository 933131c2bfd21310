"""`python -m watchkeeper`: the command, where its script is not on the path."""

from watchkeeper.cli.main import main

if __name__ == "__main__":
    main()
