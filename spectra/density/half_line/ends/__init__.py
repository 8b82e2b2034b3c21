"""What a formula does at zero and at infinity."""
