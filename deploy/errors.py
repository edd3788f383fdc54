"""The errors of ``deploy``; the command line prints one line for each and stops."""


class DeployError(Exception):
    """Base of all errors of putting the program together; ``exit_code`` ends the command."""

    exit_code = 1


class UsageError(DeployError):
    """The command was asked for something that cannot be: an option, a file, an address."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is unknown or has a value that it cannot have; names it and where it stands."""


class ServiceError(DeployError):
    """The running service refused or failed a request, or an address cannot be served."""
