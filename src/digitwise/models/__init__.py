"""Networks over tokens and coordinates."""
