-- API keys with a name and scopes, in addition to the one of each user in `api_key`.
CREATE TABLE IF NOT EXISTS "named_api_key" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "expires_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),

    CONSTRAINT "named_api_key_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "named_api_key_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "named_api_key_name_bound" CHECK (octet_length("name") <= 400),
    CONSTRAINT "named_api_key_hash_bound" CHECK (octet_length("hash") <= 32),
    CONSTRAINT "named_api_key_scopes_bound" CHECK (
        "scopes" <@ ARRAY['read', 'write', 'events', 'administration'] AND cardinality("scopes") BETWEEN 1 AND 4)
);
CREATE UNIQUE INDEX IF NOT EXISTS "named_api_key_hash_key" ON "named_api_key"("hash");
CREATE INDEX IF NOT EXISTS "named_api_key_realm_id_user_id_idx" ON "named_api_key"("realm_id", "user_id");
