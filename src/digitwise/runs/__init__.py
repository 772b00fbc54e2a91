"""One experiment: described, trained, tested, kept."""
