"""The estimators: SpectralFeatures, RFF, ORF, GRFF, GORF and AsKRFF."""
