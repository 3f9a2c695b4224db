"""The SQL engines that verification runs."""
