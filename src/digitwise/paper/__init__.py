"""The paper's findings as claims that can fail."""
