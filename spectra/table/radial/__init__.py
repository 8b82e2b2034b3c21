"""The distribution of the radius: quantiles, probabilities, expectations of plane waves."""
