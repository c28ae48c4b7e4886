-- Whether a person has signed in with the passkey alone, without the password.
ALTER TABLE "passkey" ADD COLUMN IF NOT EXISTS "signs_in_alone" BOOLEAN NOT NULL DEFAULT false;
