"""Rooms: names whose mail goes to their members, a copy each.

Above the postmaster; nothing of the core knows it.  homi-room(1) is the page.
"""
