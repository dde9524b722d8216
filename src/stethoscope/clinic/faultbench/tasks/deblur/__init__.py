"""A deblurring transformer under fp16 autocast."""
