-- Passkeys of people: public keys with which they sign in.
CREATE TABLE IF NOT EXISTS "passkey" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "credential_id" BYTEA NOT NULL,
    "name" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL,
    "transports" TEXT[],
    "backed_up" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "last_used_at" TIMESTAMPTZ(6),

    CONSTRAINT "passkey_pkey" PRIMARY KEY ("realm_id", "credential_id"),
    CONSTRAINT "passkey_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "passkey_credential_id_bound" CHECK (octet_length("credential_id") <= 1023),
    CONSTRAINT "passkey_name_bound" CHECK (octet_length("name") <= 400),
    CONSTRAINT "passkey_public_key_bound" CHECK (octet_length("public_key") <= 2000),
    CONSTRAINT "passkey_transports_bound" CHECK (
        cardinality("transports") <= 10 AND octet_length(array_to_string("transports", '')) <= 200)
);
CREATE INDEX IF NOT EXISTS "passkey_realm_id_user_id_idx" ON "passkey"("realm_id", "user_id");
