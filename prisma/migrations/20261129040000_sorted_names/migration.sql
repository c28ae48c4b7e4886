-- Lists of channels and groups are read in pages, by indexes in the order of their names. The statements can be repeated, because
-- earlier migrations can.

ALTER TABLE "channel" ADD COLUMN IF NOT EXISTS "sort_name" TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE "user_group" ADD COLUMN IF NOT EXISTS "sort_name" TEXT COLLATE "C" NOT NULL DEFAULT '';

-- Objects that the schema language cannot express.

-- Returns the key by which names are sorted, under the collation C: punctuation, digits, letters; ignoring accents, and then by
-- accents. ASCII is in the order of Unicode's collation algorithm.
CREATE OR REPLACE FUNCTION "name_sort_key"(p_name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN left(translate(
  search_fold(p_name),
  ' _-,;:!?.''"()[]{}@*/\&#%`^+<=>|~$',
  U&'\0002\0003\0004\0005\0006\0007\0008\0009\000a\000b\000c\000d\000e\000f\0010\0011\0012\0013\0014\0015\0016\0017\0018\0019\001a\001b\001c\001d\001e\001f\0020\0021\0022'
), 200) || U&'\0001' || left(lower(p_name COLLATE "C"), 200);

CREATE OR REPLACE FUNCTION "set_name_words"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name_words := search_words_of_name(NEW.name);
  NEW.sort_name := name_sort_key(NEW.name);
  RETURN NEW;
END
$$;

UPDATE "channel" SET "sort_name" = name_sort_key("name");
UPDATE "user_group" SET "sort_name" = name_sort_key("name");
ALTER TABLE "channel" DROP CONSTRAINT IF EXISTS "channel_sort_name_check";
ALTER TABLE "channel" ADD CONSTRAINT "channel_sort_name_check" CHECK (char_length("sort_name") <= 401);
ALTER TABLE "user_group" DROP CONSTRAINT IF EXISTS "user_group_sort_name_check";
ALTER TABLE "user_group" ADD CONSTRAINT "user_group_sort_name_check" CHECK (char_length("sort_name") <= 401);
CREATE INDEX IF NOT EXISTS "channel_by_sort_name" ON "channel" ("realm_id", "sort_name", "id");
CREATE INDEX IF NOT EXISTS "user_group_by_sort_name" ON "user_group" ("realm_id", "sort_name", "id");
-- Returns a time in milliseconds, as in cursors.
CREATE OR REPLACE FUNCTION "milliseconds"(p_time timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor(extract(epoch FROM p_time AT TIME ZONE 'UTC') * 1000)::bigint;
CREATE INDEX IF NOT EXISTS "channel_by_creation" ON "channel" ("realm_id", (milliseconds("created_at")), "id");
CREATE INDEX IF NOT EXISTS "user_group_by_creation" ON "user_group" ("realm_id", (COALESCE(milliseconds("created_at"), 0)), "id");
CREATE INDEX IF NOT EXISTS "user_account_by_joining" ON "user_account" ("realm_id", (milliseconds("joined_at")), "id");
-- Private channels are few, so that those that a user sees are counted by this index.
CREATE INDEX IF NOT EXISTS "channel_private" ON "channel" ("realm_id", "id") WHERE "invite_only";
CREATE INDEX IF NOT EXISTS "channel_folder_by_position" ON "channel_folder" ("realm_id", "position", "id");
CREATE INDEX IF NOT EXISTS "user_topic_by_user" ON "user_topic" ("realm_id", "user_id", "id");
CREATE INDEX IF NOT EXISTS "custom_emoji_by_name" ON "custom_emoji" ("realm_id", "name", "id");
-- Deletions of messages delete the reminders that quote them, and the scheduled messages that were delivered as one of them.
CREATE INDEX IF NOT EXISTS "scheduled_message_by_reminder_target" ON "scheduled_message" ("realm_id", "reminder_target_id")
  WHERE "reminder_target_id" IS NOT NULL;
CREATE INDEX IF NOT EXISTS "scheduled_message_by_delivered_message" ON "scheduled_message" ("realm_id", "delivered_message_id")
  WHERE "delivered_message_id" IS NOT NULL;
-- Lists of one kind do not read rows of the other.
CREATE INDEX IF NOT EXISTS "scheduled_message_by_kind" ON "scheduled_message" ("owner_id", "kind", "scheduled_at", "id") WHERE "state" <> 'delivered';
