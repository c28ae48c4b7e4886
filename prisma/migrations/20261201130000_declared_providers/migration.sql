-- Whether the environment of the server declares the provider. Owners cannot change it then.
ALTER TABLE "identity_provider" ADD COLUMN IF NOT EXISTS "is_declared" BOOLEAN NOT NULL DEFAULT false;
