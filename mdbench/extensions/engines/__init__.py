"""Containers by other engines than docker: Podman and Apptainer."""
