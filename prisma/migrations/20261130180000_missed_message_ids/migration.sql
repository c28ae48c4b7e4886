-- The messages of an email about missed messages, from which its text is written again when it is sent.
ALTER TABLE "outgoing_mail" ADD COLUMN IF NOT EXISTS "missed_message_ids" BIGINT[] NOT NULL DEFAULT '{}';
DO $$
BEGIN
  ALTER TABLE "outgoing_mail" ADD CONSTRAINT "outgoing_mail_missed_message_ids_bound"
    CHECK (cardinality("missed_message_ids") <= 500) NOT VALID;
EXCEPTION WHEN duplicate_object THEN NULL;
END
$$;
