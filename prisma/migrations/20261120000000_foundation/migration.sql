-- CreateTable
CREATE TABLE "realm" (
    "id" SERIAL NOT NULL,
    "subdomain" TEXT NOT NULL,
    "uuid" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "settings" JSONB NOT NULL DEFAULT '{}',
    "deactivated_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "realm_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "user_account" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "email" TEXT NOT NULL,
    "full_name" TEXT NOT NULL,
    "role" SMALLINT NOT NULL DEFAULT 400,
    "is_active" BOOLEAN NOT NULL DEFAULT true,
    "bot_type" SMALLINT,
    "bot_owner_id" INTEGER,
    "is_imported_stub" BOOLEAN NOT NULL DEFAULT false,
    "is_deleted" BOOLEAN NOT NULL DEFAULT false,
    "joined_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "avatar_source" TEXT NOT NULL DEFAULT 'J',
    "avatar_version" INTEGER NOT NULL DEFAULT 1,
    "password_hash" TEXT,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "can_create_users" BOOLEAN NOT NULL DEFAULT false,
    "can_change_user_emails" BOOLEAN NOT NULL DEFAULT false,
    "can_forge_sender" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "user_account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "user_id" INTEGER NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "hash" BYTEA NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "role_change" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "event_id" BIGINT NOT NULL,
    "old_role" SMALLINT NOT NULL,
    "new_role" SMALLINT NOT NULL,

    CONSTRAINT "role_change_pkey" PRIMARY KEY ("user_id","event_id")
);

-- CreateTable
CREATE TABLE "user_group" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "is_system" BOOLEAN NOT NULL DEFAULT false,
    "creator_id" INTEGER,
    "created_at" TIMESTAMPTZ(6) DEFAULT CURRENT_TIMESTAMP,
    "deactivated_at" TIMESTAMPTZ(6),
    "permissions" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "user_group_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "channel" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "rendered_description" TEXT NOT NULL DEFAULT '',
    "creator_id" INTEGER,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "invite_only" BOOLEAN NOT NULL DEFAULT false,
    "is_web_public" BOOLEAN NOT NULL DEFAULT false,
    "history_public_to_subscribers" BOOLEAN NOT NULL DEFAULT true,
    "is_archived" BOOLEAN NOT NULL DEFAULT false,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "message_retention_days" INTEGER,
    "topics_policy" TEXT NOT NULL DEFAULT 'inherit',
    "first_message_id" BIGINT,
    "folder_id" INTEGER,
    "permissions" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "channel_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "channel_folder" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "rendered_description" TEXT NOT NULL DEFAULT '',
    "creator_id" INTEGER,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "position" INTEGER NOT NULL DEFAULT 0,
    "is_archived" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "channel_folder_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subscription" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "channel_id" INTEGER NOT NULL,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "color" TEXT NOT NULL,
    "is_muted" BOOLEAN NOT NULL DEFAULT false,
    "pin_to_top" BOOLEAN NOT NULL DEFAULT false,
    "desktop_notifications" BOOLEAN,
    "audible_notifications" BOOLEAN,
    "push_notifications" BOOLEAN,
    "email_notifications" BOOLEAN,
    "wildcard_mentions_notify" BOOLEAN,

    CONSTRAINT "subscription_pkey" PRIMARY KEY ("user_id","channel_id")
);

-- CreateTable
CREATE TABLE "subscription_period" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "channel_id" INTEGER NOT NULL,
    "began_event_id" BIGINT NOT NULL,
    "ended_event_id" BIGINT,

    CONSTRAINT "subscription_period_pkey" PRIMARY KEY ("user_id","channel_id","began_event_id")
);

-- CreateTable
CREATE TABLE "draft" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "author_id" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "to" INTEGER[],
    "topic" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "last_edited_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "draft_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "saved_snippet" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "author_id" INTEGER NOT NULL,
    "title" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "saved_snippet_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "event_counter" (
    "realm_id" INTEGER NOT NULL,
    "last_id" BIGINT NOT NULL DEFAULT 0,
    "pruned_through" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "event_counter_pkey" PRIMARY KEY ("realm_id")
);

-- CreateTable
CREATE TABLE "event" (
    "realm_id" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "op" TEXT,
    "payload" JSONB NOT NULL,
    "max_role" SMALLINT,
    "channel_ids" INTEGER[],
    "user_ids" INTEGER[],
    "except_user_ids" INTEGER[],
    "public_channel_id" INTEGER,
    "width" INTEGER NOT NULL DEFAULT 1,
    "ephemeral" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "event_pkey" PRIMARY KEY ("realm_id","id")
);

-- CreateTable
CREATE TABLE "event_queue" (
    "id" UUID NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "options" JSONB NOT NULL,
    "idle_timeout_secs" INTEGER NOT NULL,
    "client_name" TEXT NOT NULL,
    "start_id" BIGINT NOT NULL,
    "acked_id" BIGINT NOT NULL,
    "scanned_through" BIGINT NOT NULL,
    "reader_epoch" INTEGER NOT NULL DEFAULT 0,
    "holder" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_active_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "ended_at" TIMESTAMPTZ(6),
    "end_reason" TEXT,

    CONSTRAINT "event_queue_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_record" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "input_hash" BYTEA NOT NULL,
    "result" JSONB,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_record_pkey" PRIMARY KEY ("user_id","key")
);

-- CreateIndex
CREATE UNIQUE INDEX "realm_subdomain_key" ON "realm"("subdomain");

-- CreateIndex
CREATE UNIQUE INDEX "user_account_realm_id_id_key" ON "user_account"("realm_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_realm_id_user_id_key" ON "api_key"("realm_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "user_group_realm_id_id_key" ON "user_group"("realm_id", "id");

-- CreateIndex
CREATE INDEX "channel_realm_id_folder_id_idx" ON "channel"("realm_id", "folder_id");

-- CreateIndex
CREATE UNIQUE INDEX "channel_realm_id_id_key" ON "channel"("realm_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "channel_folder_realm_id_id_key" ON "channel_folder"("realm_id", "id");

-- CreateIndex
CREATE INDEX "subscription_channel_id_active_user_id_idx" ON "subscription"("channel_id", "active", "user_id");

-- CreateIndex
CREATE INDEX "subscription_period_channel_id_user_id_idx" ON "subscription_period"("channel_id", "user_id");

-- CreateIndex
CREATE INDEX "draft_author_id_last_edited_at_id_idx" ON "draft"("author_id", "last_edited_at", "id");

-- CreateIndex
CREATE INDEX "saved_snippet_author_id_id_idx" ON "saved_snippet"("author_id", "id");

-- CreateIndex
CREATE INDEX "event_by_age" ON "event"("realm_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "event_queue_realm_id_ended_at_acked_id_idx" ON "event_queue"("realm_id", "ended_at", "acked_id");

-- CreateIndex
CREATE INDEX "event_queue_user_id_idx" ON "event_queue"("user_id");

-- CreateIndex
CREATE INDEX "idempotency_record_created_at_idx" ON "idempotency_record"("created_at");

-- AddForeignKey
ALTER TABLE "user_account" ADD CONSTRAINT "user_account_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_account" ADD CONSTRAINT "user_account_realm_id_bot_owner_id_fkey" FOREIGN KEY ("realm_id", "bot_owner_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "role_change" ADD CONSTRAINT "role_change_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_group" ADD CONSTRAINT "user_group_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_group" ADD CONSTRAINT "user_group_realm_id_creator_id_fkey" FOREIGN KEY ("realm_id", "creator_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "channel" ADD CONSTRAINT "channel_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "channel" ADD CONSTRAINT "channel_realm_id_creator_id_fkey" FOREIGN KEY ("realm_id", "creator_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "channel" ADD CONSTRAINT "channel_realm_id_folder_id_fkey" FOREIGN KEY ("realm_id", "folder_id") REFERENCES "channel_folder"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "channel_folder" ADD CONSTRAINT "channel_folder_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "channel_folder" ADD CONSTRAINT "channel_folder_realm_id_creator_id_fkey" FOREIGN KEY ("realm_id", "creator_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "subscription" ADD CONSTRAINT "subscription_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscription" ADD CONSTRAINT "subscription_realm_id_channel_id_fkey" FOREIGN KEY ("realm_id", "channel_id") REFERENCES "channel"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "draft" ADD CONSTRAINT "draft_realm_id_author_id_fkey" FOREIGN KEY ("realm_id", "author_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "saved_snippet" ADD CONSTRAINT "saved_snippet_realm_id_author_id_fkey" FOREIGN KEY ("realm_id", "author_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event_counter" ADD CONSTRAINT "event_counter_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event_queue" ADD CONSTRAINT "event_queue_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "idempotency_record" ADD CONSTRAINT "idempotency_record_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language cannot say: what must never be, and the indexes on expressions and parts of tables.

ALTER TABLE "realm"
  ADD CONSTRAINT "realm_subdomain_form" CHECK ("subdomain" ~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$'),
  ADD CONSTRAINT "realm_name_length" CHECK (char_length("name") BETWEEN 1 AND 40),
  ADD CONSTRAINT "realm_settings_object" CHECK (jsonb_typeof("settings") = 'object');

ALTER TABLE "user_account"
  ADD CONSTRAINT "user_role_known" CHECK ("role" IN (100, 200, 300, 400, 600)),
  ADD CONSTRAINT "user_bot_type_known" CHECK ("bot_type" BETWEEN 1 AND 4),
  ADD CONSTRAINT "user_only_bots_have_owners" CHECK ("bot_owner_id" IS NULL OR "bot_type" IS NOT NULL),
  ADD CONSTRAINT "user_owns_not_itself" CHECK ("bot_owner_id" <> "id"),
  ADD CONSTRAINT "user_name_length" CHECK (char_length("full_name") BETWEEN 1 AND 100),
  ADD CONSTRAINT "user_avatar_source_known" CHECK ("avatar_source" IN ('G', 'J', 'U')),
  ADD CONSTRAINT "user_deleted_is_inactive" CHECK (NOT ("is_deleted" AND "is_active")),
  ADD CONSTRAINT "user_settings_object" CHECK (jsonb_typeof("settings") = 'object');
CREATE UNIQUE INDEX "user_realm_email_key" ON "user_account" ("realm_id", lower("email"));
CREATE INDEX "user_realm_owners" ON "user_account" ("realm_id") WHERE "role" = 100 AND "is_active";
CREATE INDEX "user_bot_owner" ON "user_account" ("bot_owner_id") WHERE "bot_owner_id" IS NOT NULL;

ALTER TABLE "api_key" ADD CONSTRAINT "api_key_hash_length" CHECK (octet_length("hash") = 32);

ALTER TABLE "role_change" ADD CONSTRAINT "role_change_changes" CHECK ("old_role" <> "new_role");

CREATE UNIQUE INDEX "user_group_realm_name_key" ON "user_group" ("realm_id", lower("name"));

ALTER TABLE "channel"
  ADD CONSTRAINT "channel_name_length" CHECK (char_length("name") BETWEEN 1 AND 60),
  ADD CONSTRAINT "channel_description_length" CHECK (char_length("description") <= 1024),
  ADD CONSTRAINT "channel_web_public_is_public" CHECK (NOT ("is_web_public" AND "invite_only")),
  ADD CONSTRAINT "channel_public_history" CHECK ("invite_only" OR "history_public_to_subscribers"),
  ADD CONSTRAINT "channel_default_is_public" CHECK (NOT ("is_default" AND "invite_only")),
  ADD CONSTRAINT "channel_archived_is_no_default" CHECK (NOT ("is_default" AND "is_archived")),
  ADD CONSTRAINT "channel_retention" CHECK ("message_retention_days" = -1 OR "message_retention_days" > 0),
  ADD CONSTRAINT "channel_topics_policy_known"
    CHECK ("topics_policy" IN ('inherit', 'allow_empty_topic', 'disable_empty_topic', 'empty_topic_only')),
  ADD CONSTRAINT "channel_permissions_object" CHECK (jsonb_typeof("permissions") = 'object');
CREATE UNIQUE INDEX "channel_realm_name_key" ON "channel" ("realm_id", lower("name"));

ALTER TABLE "channel_folder"
  ADD CONSTRAINT "channel_folder_name_length" CHECK (char_length("name") BETWEEN 1 AND 60),
  ADD CONSTRAINT "channel_folder_description_length" CHECK (char_length("description") <= 1024);
CREATE UNIQUE INDEX "channel_folder_realm_name_key" ON "channel_folder" ("realm_id", lower("name")) WHERE NOT "is_archived";

ALTER TABLE "subscription" ADD CONSTRAINT "subscription_color_form" CHECK ("color" ~ '^#[0-9a-f]{6}$');
CREATE INDEX "subscription_user_active" ON "subscription" ("user_id") WHERE "active";

ALTER TABLE "subscription_period"
  ADD CONSTRAINT "subscription_period_order" CHECK ("ended_event_id" >= "began_event_id");
-- A user is in a channel at most once at a time.
CREATE UNIQUE INDEX "subscription_period_open_key" ON "subscription_period" ("user_id", "channel_id")
  WHERE "ended_event_id" IS NULL;

ALTER TABLE "draft"
  ADD CONSTRAINT "draft_type_known" CHECK ("type" IN ('', 'stream', 'private')),
  ADD CONSTRAINT "draft_recipients" CHECK (
    CASE "type" WHEN 'stream' THEN cardinality("to") = 1 WHEN '' THEN cardinality("to") = 0 ELSE true END),
  ADD CONSTRAINT "draft_topic" CHECK (char_length("topic") <= 60 AND ("type" = 'stream' OR "topic" = ''));

ALTER TABLE "saved_snippet"
  ADD CONSTRAINT "saved_snippet_title_length" CHECK (char_length("title") BETWEEN 1 AND 60),
  ADD CONSTRAINT "saved_snippet_content" CHECK ("content" <> '');

-- One small row, updated all the time: leave room on its page so that updates touch no index and no new page.
ALTER TABLE "event_counter" SET (fillfactor = 10);
ALTER TABLE "event_counter"
  ADD CONSTRAINT "event_counter_order" CHECK (0 <= "pruned_through" AND "pruned_through" <= "last_id");

ALTER TABLE "event"
  ADD CONSTRAINT "event_id_positive" CHECK ("id" > 0),
  ADD CONSTRAINT "event_width" CHECK ("width" BETWEEN 1 AND "id"),
  ADD CONSTRAINT "event_at_most_two_channels" CHECK (cardinality("channel_ids") <= 2);
-- Replay for one user reads only what concerns them: what everyone hears, their channels, and what names them.
CREATE INDEX "event_by_role" ON "event" ("realm_id", "id") WHERE "max_role" IS NOT NULL;
CREATE INDEX "event_by_channel_1" ON "event" ("realm_id", ("channel_ids"[1]), "id") WHERE "channel_ids"[1] IS NOT NULL;
CREATE INDEX "event_by_channel_2" ON "event" ("realm_id", ("channel_ids"[2]), "id") WHERE "channel_ids"[2] IS NOT NULL;
CREATE INDEX "event_by_user_1" ON "event" ("realm_id", ("user_ids"[1]), "id") WHERE "user_ids"[1] IS NOT NULL;
CREATE INDEX "event_by_user_2" ON "event" ("realm_id", ("user_ids"[2]), "id") WHERE "user_ids"[2] IS NOT NULL;
CREATE INDEX "event_by_further_users" ON "event" USING gin ("user_ids") WITH (fastupdate = off)
  WHERE "user_ids"[3] IS NOT NULL;
CREATE INDEX "event_ephemeral" ON "event" ("created_at") WHERE "ephemeral";
CREATE INDEX "event_by_public_channel" ON "event" ("realm_id", "id") WHERE "public_channel_id" IS NOT NULL;

ALTER TABLE "event_queue"
  ADD CONSTRAINT "event_queue_positions" CHECK (0 <= "acked_id" AND "acked_id" <= "scanned_through"),
  ADD CONSTRAINT "event_queue_timeout" CHECK ("idle_timeout_secs" BETWEEN 1 AND 604800),
  ADD CONSTRAINT "event_queue_end" CHECK (
    ("ended_at" IS NULL) = ("end_reason" IS NULL) AND "end_reason" IN ('deleted', 'expired', 'revoked'));
CREATE INDEX "event_queue_live_by_expiry" ON "event_queue" ("expires_at") WHERE "ended_at" IS NULL;
CREATE INDEX "event_queue_tombstones" ON "event_queue" ("ended_at") WHERE "ended_at" IS NOT NULL;

ALTER TABLE "idempotency_record"
  ADD CONSTRAINT "idempotency_key_length" CHECK (char_length("key") BETWEEN 1 AND 255);
