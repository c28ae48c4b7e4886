-- Notifications outside the chat: outbox, position in the event log, devices, and keys of push messages.
CREATE TABLE IF NOT EXISTS "notification_progress" (
    "realm_id" INTEGER NOT NULL,
    "through_id" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "notification_progress_pkey" PRIMARY KEY ("realm_id"),
    CONSTRAINT "notification_progress_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE TABLE IF NOT EXISTS "notification" (
    "id" BIGSERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "transport" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(6),
    "device_ids" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
    "is_removal" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "notification_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "notification_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "notification_transport_bound" CHECK (octet_length("transport") <= 20),
    CONSTRAINT "notification_reason_bound" CHECK (octet_length("reason") <= 40),
    CONSTRAINT "notification_transport_known" CHECK ("transport" IN ('push', 'email')),
    CONSTRAINT "notification_reason_known" CHECK ("reason" IN ('direct', 'mention', 'wildcard', 'followed_topic', 'channel')),
    CONSTRAINT "notification_device_ids_bound" CHECK (cardinality("device_ids") <= 200)
);
CREATE UNIQUE INDEX IF NOT EXISTS "notification_realm_id_user_id_message_id_transport_key"
    ON "notification"("realm_id", "user_id", "message_id", "transport");
CREATE INDEX IF NOT EXISTS "notification_realm_id_message_id_idx" ON "notification"("realm_id", "message_id");
CREATE INDEX IF NOT EXISTS "notification_by_age" ON "notification"("created_at");
-- The queue of each transport.
CREATE INDEX IF NOT EXISTS "notification_due" ON "notification"("transport", "next_attempt_at")
    WHERE "next_attempt_at" IS NOT NULL;
CREATE TABLE IF NOT EXISTS "push_device" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "session_id" INTEGER,
    "key_hash" BYTEA,
    "endpoint" TEXT NOT NULL,
    "endpoint_hash" BYTEA NOT NULL,
    "public_key" TEXT NOT NULL,
    "auth_secret" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "last_sent_at" TIMESTAMPTZ(6),

    CONSTRAINT "push_device_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "push_device_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "push_device_realm_id_session_id_fkey" FOREIGN KEY ("realm_id", "session_id")
        REFERENCES "session"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "push_device_credential" CHECK (("session_id" IS NULL) <> ("key_hash" IS NULL)),
    CONSTRAINT "push_device_key_hash_bound" CHECK (octet_length("key_hash") = 32),
    CONSTRAINT "push_device_endpoint_bound" CHECK (octet_length("endpoint") <= 2000),
    CONSTRAINT "push_device_endpoint_hash_bound" CHECK (octet_length("endpoint_hash") = 32),
    CONSTRAINT "push_device_public_key_bound" CHECK (octet_length("public_key") <= 100),
    CONSTRAINT "push_device_auth_secret_bound" CHECK (octet_length("auth_secret") <= 40),
    CONSTRAINT "push_device_name_bound" CHECK (octet_length("name") <= 400)
);
CREATE UNIQUE INDEX IF NOT EXISTS "push_device_realm_id_endpoint_hash_key" ON "push_device"("realm_id", "endpoint_hash");
CREATE INDEX IF NOT EXISTS "push_device_realm_id_user_id_idx" ON "push_device"("realm_id", "user_id");
CREATE INDEX IF NOT EXISTS "push_device_realm_id_session_id_idx" ON "push_device"("realm_id", "session_id");
CREATE TABLE IF NOT EXISTS "push_key" (
    "realm_id" INTEGER NOT NULL,
    "public_key" TEXT NOT NULL,
    "sealed_private_key" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "push_key_pkey" PRIMARY KEY ("realm_id"),
    CONSTRAINT "push_key_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "push_key_public_key_bound" CHECK (octet_length("public_key") <= 100),
    CONSTRAINT "push_key_sealed_private_key_bound" CHECK (octet_length("sealed_private_key") <= 200)
);
ALTER TABLE "outgoing_mail" ADD COLUMN IF NOT EXISTS "unsubscribe_url" TEXT;
DO $$
BEGIN
  ALTER TABLE "outgoing_mail" ADD CONSTRAINT "outgoing_mail_unsubscribe_url_bound"
    CHECK (octet_length("unsubscribe_url") <= 2000) NOT VALID;
EXCEPTION WHEN duplicate_object THEN NULL;
END
$$;
-- Messages from before are not notified. Organizations without a row begin at their first event.
INSERT INTO "notification_progress" ("realm_id", "through_id")
SELECT "realm_id", "last_id" FROM "event_counter"
ON CONFLICT DO NOTHING;
