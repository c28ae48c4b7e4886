-- OpenID Connect providers of an organization, and the identities of its users at them.
CREATE TABLE IF NOT EXISTS "identity_provider" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "sealed_secret" BYTEA,
    "domains" TEXT[],
    "creates_accounts" BOOLEAN NOT NULL,
    "groups_claim" TEXT,
    "group_rules" JSONB NOT NULL DEFAULT '[]',
    "is_enabled" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "identity_provider_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "identity_provider_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "identity_provider_slug_bound" CHECK (octet_length("slug") <= 160),
    CONSTRAINT "identity_provider_name_bound" CHECK (octet_length("name") <= 400),
    CONSTRAINT "identity_provider_issuer_bound" CHECK (octet_length("issuer") <= 1000),
    CONSTRAINT "identity_provider_client_id_bound" CHECK (octet_length("client_id") <= 4000),
    CONSTRAINT "identity_provider_sealed_secret_bound" CHECK (octet_length("sealed_secret") <= 8192),
    CONSTRAINT "identity_provider_domains_bound" CHECK (cardinality("domains") <= 200 AND pg_column_size("domains") <= 60000),
    CONSTRAINT "identity_provider_groups_claim_bound" CHECK (octet_length("groups_claim") <= 800),
    CONSTRAINT "identity_provider_group_rules_bound" CHECK (pg_column_size("group_rules") <= 400000),
    CONSTRAINT "identity_provider_enabled_with_secret" CHECK ("sealed_secret" IS NOT NULL OR NOT "is_enabled")
);
CREATE UNIQUE INDEX IF NOT EXISTS "identity_provider_realm_id_slug_key" ON "identity_provider"("realm_id", "slug");
CREATE TABLE IF NOT EXISTS "linked_identity" (
    "realm_id" INTEGER NOT NULL,
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "linked_identity_pkey" PRIMARY KEY ("realm_id", "issuer", "subject"),
    CONSTRAINT "linked_identity_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "linked_identity_issuer_bound" CHECK (octet_length("issuer") <= 1000),
    CONSTRAINT "linked_identity_subject_bound" CHECK (octet_length("subject") <= 1000)
);
CREATE UNIQUE INDEX IF NOT EXISTS "linked_identity_realm_id_user_id_issuer_key" ON "linked_identity"("realm_id", "user_id", "issuer");
