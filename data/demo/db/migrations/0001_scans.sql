-- Scans as carriers report them. Nothing here is ever updated.
CREATE TABLE scans (
    carrier     text        NOT NULL,
    parcel      text        NOT NULL CHECK (parcel ~ '^PX[0-9]{9}$'),
    status      text        NOT NULL,
    happened_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    place       text,
    PRIMARY KEY (carrier, parcel, status, happened_at)
);

CREATE INDEX scans_by_parcel ON scans (parcel, happened_at);

CREATE VIEW timeline_scans AS
SELECT parcel, carrier, status, happened_at, place
FROM scans
ORDER BY happened_at;
