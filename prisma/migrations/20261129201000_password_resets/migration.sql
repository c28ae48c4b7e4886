-- Links with which people choose a new password.
CREATE TABLE IF NOT EXISTS "password_reset" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "password_reset_pkey" PRIMARY KEY ("realm_id", "user_id"),
    CONSTRAINT "password_reset_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "password_reset_token_hash_bound" CHECK (octet_length("token_hash") <= 64)
);
CREATE UNIQUE INDEX IF NOT EXISTS "password_reset_realm_id_token_hash_key"
    ON "password_reset"("realm_id", "token_hash");
