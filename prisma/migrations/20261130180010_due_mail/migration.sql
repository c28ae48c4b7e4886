-- One by one
-- The order in which emails are claimed: those about missed messages after all others.
CREATE INDEX IF NOT EXISTS "outgoing_mail_due" ON "outgoing_mail" ("next_attempt_at", "id")
  WHERE "unsubscribe_url" IS NULL AND "next_attempt_at" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "outgoing_mail_due_missed" ON "outgoing_mail" ("next_attempt_at", "id")
  WHERE "unsubscribe_url" IS NOT NULL AND "next_attempt_at" IS NOT NULL;
