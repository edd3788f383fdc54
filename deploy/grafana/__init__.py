"""Grafana dashboards, made from a short description of their panels."""
