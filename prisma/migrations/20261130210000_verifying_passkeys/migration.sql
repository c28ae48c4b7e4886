-- Whether the authenticator of a passkey has verified the person, so that the passkey signs in without the password.
ALTER TABLE "passkey" ADD COLUMN IF NOT EXISTS "user_verified" BOOLEAN NOT NULL DEFAULT false;
