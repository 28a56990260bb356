"""What code is made for: cores, profiles and this machine."""
