-- AlterTable
ALTER TABLE "realm" ADD COLUMN     "user_defaults" JSONB NOT NULL DEFAULT '{}';

-- AlterTable
ALTER TABLE "user_account" ADD COLUMN     "avatar_image_id" UUID,
ADD COLUMN     "default_all_public_channels" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "default_events_channel_id" INTEGER,
ADD COLUMN     "default_sending_channel_id" INTEGER,
ADD COLUMN     "full_member_group_ids" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
ADD COLUMN     "group_ids" INTEGER[] DEFAULT ARRAY[]::INTEGER[];

-- CreateTable
CREATE TABLE "user_group_member" (
    "realm_id" INTEGER NOT NULL,
    "group_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,

    CONSTRAINT "user_group_member_pkey" PRIMARY KEY ("group_id","user_id")
);

-- CreateTable
CREATE TABLE "user_group_subgroup" (
    "realm_id" INTEGER NOT NULL,
    "group_id" INTEGER NOT NULL,
    "subgroup_id" INTEGER NOT NULL,

    CONSTRAINT "user_group_subgroup_pkey" PRIMARY KEY ("group_id","subgroup_id")
);

-- CreateTable
CREATE TABLE "profile_field" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "type" SMALLINT NOT NULL,
    "position" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "hint" TEXT NOT NULL DEFAULT '',
    "field_data" TEXT NOT NULL DEFAULT '',
    "display_in_profile_summary" BOOLEAN NOT NULL DEFAULT false,
    "required" BOOLEAN NOT NULL DEFAULT false,
    "editable_by_user" BOOLEAN NOT NULL DEFAULT true,
    "use_for_user_matching" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "profile_field_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "profile_value" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "field_id" INTEGER NOT NULL,
    "value" TEXT NOT NULL,
    "rendered_value" TEXT,

    CONSTRAINT "profile_value_pkey" PRIMARY KEY ("user_id","field_id")
);

-- CreateTable
CREATE TABLE "image" (
    "id" UUID NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "media_type" TEXT NOT NULL,
    "bytes" BYTEA NOT NULL,
    "reduced" BYTEA,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "image_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "custom_emoji" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "author_id" INTEGER,
    "image_id" UUID NOT NULL,
    "is_animated" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deactivated_at" TIMESTAMPTZ(6),

    CONSTRAINT "custom_emoji_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "presence" (
    "user_id" INTEGER NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "active_at" TIMESTAMPTZ(6),
    "idle_at" TIMESTAMPTZ(6),
    "update_id" BIGINT NOT NULL,

    CONSTRAINT "presence_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "presence_counter" (
    "realm_id" INTEGER NOT NULL,
    "last_id" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "presence_counter_pkey" PRIMARY KEY ("realm_id")
);

-- CreateTable
CREATE TABLE "call_token" (
    "user_id" INTEGER NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "sealed" BYTEA NOT NULL,
    "updated_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "call_token_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "outgoing_mail" (
    "id" BIGSERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "recipient" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(6),
    "sent_at" TIMESTAMPTZ(6),
    "last_error" TEXT,

    CONSTRAINT "outgoing_mail_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "email_change" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "new_email" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "email_change_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "used_token" (
    "realm_id" INTEGER NOT NULL,
    "id_hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "used_token_pkey" PRIMARY KEY ("realm_id","id_hash")
);

-- CreateIndex
CREATE INDEX "user_group_member_user_id_idx" ON "user_group_member"("user_id");

-- CreateIndex
CREATE INDEX "user_group_subgroup_subgroup_id_idx" ON "user_group_subgroup"("subgroup_id");

-- CreateIndex
CREATE UNIQUE INDEX "profile_field_realm_id_id_key" ON "profile_field"("realm_id", "id");

-- CreateIndex
CREATE INDEX "profile_value_field_id_idx" ON "profile_value"("field_id");

-- CreateIndex
CREATE UNIQUE INDEX "image_realm_id_id_key" ON "image"("realm_id", "id");

-- CreateIndex
CREATE INDEX "custom_emoji_realm_id_idx" ON "custom_emoji"("realm_id");

-- CreateIndex
CREATE INDEX "presence_realm_id_update_id_idx" ON "presence"("realm_id", "update_id");

-- CreateIndex
CREATE UNIQUE INDEX "presence_realm_id_user_id_key" ON "presence"("realm_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "call_token_realm_id_user_id_key" ON "call_token"("realm_id", "user_id");

-- CreateIndex
CREATE INDEX "outgoing_mail_next_attempt_at_idx" ON "outgoing_mail"("next_attempt_at");

-- CreateIndex
CREATE UNIQUE INDEX "email_change_token_hash_key" ON "email_change"("token_hash");

-- CreateIndex
CREATE INDEX "email_change_user_id_idx" ON "email_change"("user_id");

-- CreateIndex
CREATE INDEX "used_token_expires_at_idx" ON "used_token"("expires_at");

-- AddForeignKey
ALTER TABLE "user_account" ADD CONSTRAINT "user_account_realm_id_avatar_image_id_fkey" FOREIGN KEY ("realm_id", "avatar_image_id") REFERENCES "image"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "user_group_member" ADD CONSTRAINT "user_group_member_realm_id_group_id_fkey" FOREIGN KEY ("realm_id", "group_id") REFERENCES "user_group"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_group_member" ADD CONSTRAINT "user_group_member_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_group_subgroup" ADD CONSTRAINT "user_group_subgroup_realm_id_group_id_fkey" FOREIGN KEY ("realm_id", "group_id") REFERENCES "user_group"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_group_subgroup" ADD CONSTRAINT "user_group_subgroup_realm_id_subgroup_id_fkey" FOREIGN KEY ("realm_id", "subgroup_id") REFERENCES "user_group"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "profile_field" ADD CONSTRAINT "profile_field_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "profile_value" ADD CONSTRAINT "profile_value_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "profile_value" ADD CONSTRAINT "profile_value_realm_id_field_id_fkey" FOREIGN KEY ("realm_id", "field_id") REFERENCES "profile_field"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "image" ADD CONSTRAINT "image_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "custom_emoji" ADD CONSTRAINT "custom_emoji_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "custom_emoji" ADD CONSTRAINT "custom_emoji_realm_id_author_id_fkey" FOREIGN KEY ("realm_id", "author_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "custom_emoji" ADD CONSTRAINT "custom_emoji_realm_id_image_id_fkey" FOREIGN KEY ("realm_id", "image_id") REFERENCES "image"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "presence" ADD CONSTRAINT "presence_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "presence_counter" ADD CONSTRAINT "presence_counter_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "call_token" ADD CONSTRAINT "call_token_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "outgoing_mail" ADD CONSTRAINT "outgoing_mail_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "email_change" ADD CONSTRAINT "email_change_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "used_token" ADD CONSTRAINT "used_token_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the schema language cannot say.

CREATE UNIQUE INDEX "user_account_avatar" ON "user_account" ("realm_id", "avatar_image_id") WHERE "avatar_image_id" IS NOT NULL;
ALTER TABLE "user_account"
  ADD CONSTRAINT "user_account_avatar_whole" CHECK (("avatar_source" = 'U') = ("avatar_image_id" IS NOT NULL));

-- Whom a group holds, however deep.
CREATE INDEX "user_account_by_group" ON "user_account" USING gin ("group_ids") WHERE "group_ids" <> '{}';
CREATE INDEX "user_account_by_full_member_group" ON "user_account" USING gin ("full_member_group_ids")
  WHERE "full_member_group_ids" <> '{}';

ALTER TABLE "user_group_subgroup" ADD CONSTRAINT "user_group_subgroup_other" CHECK ("group_id" <> "subgroup_id");

ALTER TABLE "profile_field"
  ADD CONSTRAINT "profile_field_type_known" CHECK ("type" BETWEEN 1 AND 8),
  ADD CONSTRAINT "profile_field_name_length" CHECK (char_length("name") BETWEEN 1 AND 40),
  ADD CONSTRAINT "profile_field_hint_length" CHECK (char_length("hint") <= 80);
CREATE UNIQUE INDEX "profile_field_name_key" ON "profile_field" ("realm_id", lower("name"));

-- A name means one emoji at a time.
CREATE UNIQUE INDEX "custom_emoji_name_key" ON "custom_emoji" ("realm_id", "name") WHERE "deactivated_at" IS NULL;
ALTER TABLE "custom_emoji" ADD CONSTRAINT "custom_emoji_name_form" CHECK ("name" ~ '^[0-9a-z_-]*[0-9a-z]$');

ALTER TABLE "outgoing_mail" ADD CONSTRAINT "outgoing_mail_sent_once" CHECK ("sent_at" IS NULL OR "next_attempt_at" IS NULL);
