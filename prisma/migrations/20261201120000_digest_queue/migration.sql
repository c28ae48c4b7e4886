-- One by one
-- Digests have a time of their own, which nodes of version 0.2.0 do not read. They are claimed after all other emails.
ALTER TABLE "outgoing_mail" ADD COLUMN IF NOT EXISTS "next_digest_attempt_at" TIMESTAMPTZ(6);
CREATE INDEX IF NOT EXISTS "outgoing_mail_due_digest" ON "outgoing_mail" ("next_digest_attempt_at", "id")
  WHERE "next_digest_attempt_at" IS NOT NULL;
-- The organizations that send digests, by the day of the week.
CREATE INDEX IF NOT EXISTS "realm_with_digests" ON "realm" (("settings"->>'digest_weekday'), "id")
  WHERE "settings"->>'digest_emails_enabled' = 'true' AND "deactivated_at" IS NULL;
-- The accounts of an address in all organizations.
CREATE INDEX IF NOT EXISTS "user_account_by_email" ON "user_account" (lower("email")) WHERE "is_active";
