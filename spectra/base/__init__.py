"""What every package uses: numbers, special functions, balls, files, limits of time."""
