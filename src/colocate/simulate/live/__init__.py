"""Placements that change while requests come: engines are loaded, closed and removed."""
