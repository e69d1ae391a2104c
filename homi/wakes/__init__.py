"""Wakes: mail with a trigger in front, a schedule or an event.

Above the postmaster; nothing of the core knows it.  homi-wake(1) is the page.
"""
