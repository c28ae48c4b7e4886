-- Links with which people create an account without an invitation, and with which the first owner of an organization does.
CREATE TABLE IF NOT EXISTS "sign_up" (
    "realm_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "email" TEXT NOT NULL,
    "role" SMALLINT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "sign_up_pkey" PRIMARY KEY ("realm_id", "token_hash"),
    CONSTRAINT "sign_up_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "sign_up_email_bound" CHECK (octet_length("email") <= 4096),
    CONSTRAINT "sign_up_token_hash_bound" CHECK (octet_length("token_hash") <= 64)
);
-- Time at which the organization is erased. It is deactivated until then.
ALTER TABLE "realm" ADD COLUMN IF NOT EXISTS "delete_at" TIMESTAMPTZ(6);
