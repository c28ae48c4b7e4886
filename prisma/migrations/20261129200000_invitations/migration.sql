-- Invitations by email and by reusable link. The lists have upper bounds that the service enforces earlier.
CREATE TABLE IF NOT EXISTS "invitation" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "inviter_id" INTEGER NOT NULL,
    "is_reusable" BOOLEAN NOT NULL,
    "link_id" INTEGER,
    "email" TEXT,
    "role" SMALLINT NOT NULL,
    "channel_ids" INTEGER[],
    "includes_default_channels" BOOLEAN NOT NULL,
    "group_ids" INTEGER[],
    "notifies_inviter" BOOLEAN NOT NULL,
    "welcome_text" TEXT,
    "token_hash" BYTEA NOT NULL,
    "sealed_token" BYTEA,
    "created_at" TIMESTAMPTZ(6) NOT NULL,
    "expires_at" TIMESTAMPTZ(6),
    "sent_at" TIMESTAMPTZ(6)[],
    "closed_at" TIMESTAMPTZ(6),
    "was_used" BOOLEAN,

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("realm_id", "id"),
    CONSTRAINT "invitation_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id")
        ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "invitation_realm_id_inviter_id_fkey" FOREIGN KEY ("realm_id", "inviter_id")
        REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
    CONSTRAINT "invitation_realm_id_link_id_fkey" FOREIGN KEY ("realm_id", "link_id")
        REFERENCES "invitation"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION,
    CONSTRAINT "invitation_email_bound" CHECK (octet_length("email") <= 4096),
    CONSTRAINT "invitation_welcome_text_bound" CHECK (octet_length("welcome_text") <= 40000),
    CONSTRAINT "invitation_token_hash_bound" CHECK (octet_length("token_hash") <= 64),
    CONSTRAINT "invitation_sealed_token_bound" CHECK (octet_length("sealed_token") <= 4096),
    CONSTRAINT "invitation_channel_ids_bound" CHECK (cardinality("channel_ids") <= 500),
    CONSTRAINT "invitation_group_ids_bound" CHECK (cardinality("group_ids") <= 500),
    CONSTRAINT "invitation_sent_at_bound" CHECK (cardinality("sent_at") <= 100000),
    -- An open invitation has an address, or a token that can be read again. A closed one has neither.
    CONSTRAINT "invitation_recipient" CHECK (
        CASE WHEN "closed_at" IS NOT NULL THEN "email" IS NULL AND "sealed_token" IS NULL
        WHEN "is_reusable" THEN "email" IS NULL AND "sealed_token" IS NOT NULL
        ELSE "email" IS NOT NULL AND "sealed_token" IS NULL END)
);
CREATE UNIQUE INDEX IF NOT EXISTS "invitation_realm_id_token_hash_key" ON "invitation"("realm_id", "token_hash");
CREATE INDEX IF NOT EXISTS "invitation_realm_id_inviter_id_idx" ON "invitation"("realm_id", "inviter_id");
CREATE INDEX IF NOT EXISTS "invitation_realm_id_link_id_idx" ON "invitation"("realm_id", "link_id");
-- The email of an invitation names the inviter, without an address by which the erasure of the inviter would find it.
ALTER TABLE "outgoing_mail" ADD COLUMN IF NOT EXISTS "named_user_id" INTEGER;
ALTER TABLE "outgoing_mail" DROP CONSTRAINT IF EXISTS "outgoing_mail_realm_id_named_user_id_fkey";
ALTER TABLE "outgoing_mail" ADD CONSTRAINT "outgoing_mail_realm_id_named_user_id_fkey" FOREIGN KEY ("realm_id", "named_user_id")
    REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;
