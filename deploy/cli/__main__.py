"""``python -m deploy.cli``: the command for where its script is not on the path."""

from deploy.cli import main

if __name__ == "__main__":
    main()
