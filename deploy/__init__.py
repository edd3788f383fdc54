"""How it is put together and run: settings, telemetry, assembly, the command line."""
