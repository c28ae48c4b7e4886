-- Digest emails: the beginning of their period in the queue of emails, and the round in which they were last queued.
ALTER TABLE "outgoing_mail" ADD COLUMN IF NOT EXISTS "digest_since" TIMESTAMPTZ(6);
CREATE TABLE IF NOT EXISTS "digest_progress" (
    "realm_id" INTEGER NOT NULL,
    "day" DATE NOT NULL,
    "since_day" DATE NOT NULL,
    "through_user_id" INTEGER NOT NULL DEFAULT 0,
    "is_complete" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "digest_progress_pkey" PRIMARY KEY ("realm_id"),
    CONSTRAINT "digest_progress_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION
);
