"""`python -m colocate`."""

from colocate.cli.main import main

if __name__ == "__main__":
    main()
