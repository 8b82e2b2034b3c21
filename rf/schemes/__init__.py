"""How features of each kind of kernel are sampled, and their variance."""
