"""`python -P -m colocate`; without `-P`, Python takes modules from the current folder first."""

from colocate.cli.start import main

if __name__ == "__main__":
    main()
