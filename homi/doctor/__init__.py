"""What may be wrong with a homi on this machine: looked at, and told with its fix.

Changes nothing that it was not asked to; homi-doctor(1) lists the checks.
"""
