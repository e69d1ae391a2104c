"""Mail between devices: what is said on one link, and who keeps it up."""
