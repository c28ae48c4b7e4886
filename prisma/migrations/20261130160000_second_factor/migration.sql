-- Second factors of people: the secret of an authenticator app, and codes for the case that it is lost.
CREATE TABLE IF NOT EXISTS "second_factor" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "sealed_secret" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "confirmed_at" TIMESTAMPTZ(6),
    "last_step" BIGINT,

    CONSTRAINT "second_factor_pkey" PRIMARY KEY ("realm_id", "user_id"),
    CONSTRAINT "second_factor_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "second_factor_sealed_secret_bound" CHECK (octet_length("sealed_secret") <= 200)
);
CREATE TABLE IF NOT EXISTS "recovery_code" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "recovery_code_pkey" PRIMARY KEY ("realm_id", "user_id", "hash"),
    CONSTRAINT "recovery_code_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "recovery_code_hash_bound" CHECK (octet_length("hash") <= 32)
);
