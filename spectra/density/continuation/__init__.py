"""A formula as an analytic function of complex balls, and the region where it is analytic."""
