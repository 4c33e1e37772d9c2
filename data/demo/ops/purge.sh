#!/usr/bin/env bash
# Nightly: delete scans and addresses that are past their retention. The days come from config/tracking.toml.
set -euo pipefail

days() {
  awk -v key="$1" '$1 == key { print $3 }' config/tracking.toml
}

psql "$PARCELO_DATABASE_URL" --command "SELECT purge_old($(days scans_days), $(days addresses_days))"
