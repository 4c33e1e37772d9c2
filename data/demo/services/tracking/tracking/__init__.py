"""The tracking service: parcels, scans, estimates, webhooks."""
