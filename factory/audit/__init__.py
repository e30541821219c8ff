"""Says what of a commit's claims can be proven, without a model and after the fact."""
