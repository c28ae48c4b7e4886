-- The provider with which a session began, so that the person can sign out there, and the provider can end the session.
ALTER TABLE "session"
    ADD COLUMN IF NOT EXISTS "provider_id" INTEGER,
    ADD COLUMN IF NOT EXISTS "provider_subject" TEXT,
    ADD COLUMN IF NOT EXISTS "provider_session" TEXT,
    ADD COLUMN IF NOT EXISTS "provider_signs_out" BOOLEAN NOT NULL DEFAULT false;
DO $$
BEGIN
  ALTER TABLE "session" ADD CONSTRAINT "session_provider_bound"
    CHECK (char_length("provider_subject") <= 255 AND char_length("provider_session") <= 255) NOT VALID;
EXCEPTION WHEN duplicate_object THEN NULL;
END
$$;
