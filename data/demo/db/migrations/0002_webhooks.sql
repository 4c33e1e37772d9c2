CREATE TABLE subscriptions (
    id         bigserial PRIMARY KEY,
    account    bigint    NOT NULL,
    url        text      NOT NULL,
    paused_at  timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE deliveries (
    id           bigserial PRIMARY KEY,
    subscription bigint  NOT NULL REFERENCES subscriptions ON DELETE CASCADE,
    body         jsonb   NOT NULL,
    attempts     integer NOT NULL DEFAULT 0,
    next_try_at  timestamptz NOT NULL DEFAULT now(),
    state        text    NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'sent', 'failed'))
);

CREATE INDEX deliveries_due ON deliveries (next_try_at) WHERE state = 'pending';
