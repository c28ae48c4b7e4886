-- One by one
-- Indexes begin with the organization: see src/platform/db/README.md. Statements of version 0.2.0 that do not contain the
-- organization need the indexes without it on the tables below from "message" to "saved_snippet". The next version drops those.
CREATE INDEX IF NOT EXISTS "message_realm_id_sender_id_id_idx" ON "message" ("realm_id", "sender_id", "id");
CREATE INDEX IF NOT EXISTS "message_in_channel" ON "message" ("realm_id", "channel_id", "id") INCLUDE ("sent_channel_id")
  WHERE "channel_id" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "message_in_topic" ON "message" ("realm_id", "channel_id", topic_key("topic"), "id")
  WHERE "channel_id" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "message_in_conversation" ON "message" ("realm_id", "conversation_id", "id")
  WHERE "conversation_id" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "message_moved_from" ON "message" ("realm_id", "sent_channel_id", "id")
  WHERE "channel_id" <> "sent_channel_id";
CREATE INDEX IF NOT EXISTS "message_wildcard_in_channel" ON "message" ("realm_id", "channel_id", "id")
  WHERE "channel_wildcard" AND "channel_id" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "message_wildcard_in_conversation" ON "message" ("realm_id", "conversation_id", "id")
  WHERE "channel_wildcard" AND "conversation_id" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "message_resolved_in_channel" ON "message" ("realm_id", "channel_id", "id")
  WHERE "channel_id" IS NOT NULL AND starts_with("topic", '✔ ');
CREATE INDEX IF NOT EXISTS "message_read_by_sender" ON "message" (
    "realm_id", "sender_id", (COALESCE("sent_channel_id"::bigint * 2, "conversation_id"::bigint * 2 + 1)), "id")
  WHERE "read_by_sender" AND "channel_id" IS NOT DISTINCT FROM "sent_channel_id";
CREATE INDEX IF NOT EXISTS "subscription_realm_id_channel_id_active_user_id_idx"
  ON "subscription" ("realm_id", "channel_id", "active", "user_id");
CREATE INDEX IF NOT EXISTS "subscription_period_realm_id_channel_id_user_id_idx"
  ON "subscription_period" ("realm_id", "channel_id", "user_id");
CREATE INDEX IF NOT EXISTS "scheduled_message_of_kind" ON "scheduled_message" ("realm_id", "owner_id", "kind", "scheduled_at", "id")
  WHERE "state" <> 'delivered';
CREATE INDEX IF NOT EXISTS "draft_realm_id_author_id_last_edited_at_id_idx" ON "draft" ("realm_id", "author_id", "last_edited_at", "id");
CREATE INDEX IF NOT EXISTS "saved_snippet_realm_id_author_id_id_idx" ON "saved_snippet" ("realm_id", "author_id", "id");
CREATE INDEX IF NOT EXISTS "scheduled_message_realm_id_owner_id_scheduled_at_id_idx"
  ON "scheduled_message" ("realm_id", "owner_id", "scheduled_at", "id");
CREATE INDEX IF NOT EXISTS "scheduled_message_undelivered" ON "scheduled_message" ("realm_id", "owner_id", "scheduled_at", "id")
  WHERE "state" <> 'delivered';
CREATE INDEX IF NOT EXISTS "subscription_of_user" ON "subscription" ("realm_id", "user_id", "channel_id") WHERE "active";
CREATE INDEX IF NOT EXISTS "event_queue_realm_id_user_id_idx" ON "event_queue" ("realm_id", "user_id");
CREATE INDEX IF NOT EXISTS "read_exception_realm_id_user_id_recipient_id_message_id_idx"
  ON "read_exception" ("realm_id", "user_id", "recipient_id", "message_id");
CREATE INDEX IF NOT EXISTS "user_message_with_star" ON "user_message" ("realm_id", "user_id", "message_id") WHERE "starred";
CREATE INDEX IF NOT EXISTS "user_message_with_mention" ON "user_message" ("realm_id", "user_id", "message_id")
  WHERE "mentioned" OR "topic_wildcard_mentioned";
CREATE INDEX IF NOT EXISTS "user_message_with_alert" ON "user_message" ("realm_id", "user_id", "message_id") WHERE "has_alert_word";
CREATE INDEX IF NOT EXISTS "user_topic_in_channel" ON "user_topic" ("realm_id", "channel_id", topic_key("topic"));
CREATE INDEX IF NOT EXISTS "user_group_member_realm_id_user_id_idx" ON "user_group_member" ("realm_id", "user_id");
CREATE INDEX IF NOT EXISTS "user_group_subgroup_realm_id_subgroup_id_idx" ON "user_group_subgroup" ("realm_id", "subgroup_id");
CREATE INDEX IF NOT EXISTS "profile_value_realm_id_field_id_idx" ON "profile_value" ("realm_id", "field_id");
CREATE INDEX IF NOT EXISTS "email_change_realm_id_user_id_idx" ON "email_change" ("realm_id", "user_id");
CREATE INDEX IF NOT EXISTS "user_account_bots" ON "user_account" ("realm_id", "bot_owner_id") WHERE "bot_owner_id" IS NOT NULL;
