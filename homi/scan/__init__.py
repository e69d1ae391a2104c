"""Secrets in what is about to leave the device.  homi-send(1) states the rules."""
