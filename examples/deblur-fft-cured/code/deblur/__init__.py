"""Motion deblurring in the frequency domain."""
