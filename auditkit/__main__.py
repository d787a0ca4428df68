"""`python -m auditkit` is the command `auditkit`."""

from auditkit.cli.main import entry

if __name__ == "__main__":
    entry()
