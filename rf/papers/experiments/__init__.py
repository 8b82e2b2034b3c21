"""The runner of all experiments: cells, measures, results on disk, pages and pictures."""
