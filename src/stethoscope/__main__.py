"""`python -m stethoscope` is the command line."""

from stethoscope.cli import main

if __name__ == "__main__":
    main()
