-- One by one
-- Drops indexes that 20261129150000_indexes_by_organization replaced, and that no statement of version 0.2.0 needs: its
-- statements on these tables contain the organization. "message_by_topic" and "message_by_words" were for older versions. Each
-- statement locks a table against reads until it has dropped the index.
DROP INDEX IF EXISTS "message_by_topic";
DROP INDEX IF EXISTS "message_by_words";
DROP INDEX IF EXISTS "scheduled_message_owner_id_scheduled_at_id_idx";
DROP INDEX IF EXISTS "scheduled_message_waiting";
DROP INDEX IF EXISTS "subscription_user_active";
DROP INDEX IF EXISTS "event_queue_user_id_idx";
DROP INDEX IF EXISTS "read_exception_user_id_recipient_id_message_id_idx";
DROP INDEX IF EXISTS "user_message_starred";
DROP INDEX IF EXISTS "user_message_mentioned";
DROP INDEX IF EXISTS "user_message_alerted";
DROP INDEX IF EXISTS "user_topic_by_channel";
DROP INDEX IF EXISTS "user_group_member_user_id_idx";
DROP INDEX IF EXISTS "user_group_subgroup_subgroup_id_idx";
DROP INDEX IF EXISTS "profile_value_field_id_idx";
DROP INDEX IF EXISTS "email_change_user_id_idx";
DROP INDEX IF EXISTS "user_bot_owner";
