"""Results as a site of static files: `report --site`."""
