#!/usr/bin/env bash
# Stop sending webhooks to one subscriber; what is pending stays and is sent when it is resumed.
set -euo pipefail
psql "$PARCELO_DATABASE_URL" --set id="${1:?usage: pause_subscription.sh ID}" \
  --command "UPDATE subscriptions SET paused_at = now() WHERE id = :id"
