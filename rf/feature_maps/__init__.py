"""From rows and frequencies to columns: the inner loops and what they run on."""
