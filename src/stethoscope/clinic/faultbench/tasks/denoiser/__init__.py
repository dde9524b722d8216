"""An EDM denoiser of small pictures."""
