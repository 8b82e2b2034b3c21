"""Any analytic formula on the half-line: contours in the plane, expansions at both ends."""
