-- Addresses live shorter than scans, so they stand in a table of their own.
CREATE TABLE recipients (
    parcel     text PRIMARY KEY,
    name       text NOT NULL,
    address    text NOT NULL,
    stored_at  timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION purge_old(scans_days integer, addresses_days integer) RETURNS bigint
LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM recipients WHERE stored_at < now() - make_interval(days => addresses_days) RETURNING 1
    ), old AS (
        DELETE FROM scans WHERE happened_at < now() - make_interval(days => scans_days) RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM old);
$$;
