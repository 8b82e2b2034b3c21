"""Values of formulas in doubles and with more digits."""
