"""Numbers, trajectories and fields as text and pictures; knows neither records nor data types."""
