"""Exact re-splits over binned rows: rules made better and smaller."""
