-- Retention selects copies of deleted messages by channel and age, and the erasure of a user by sender. In the body, these would have to be
-- read from every copy.
ALTER TABLE "deleted_message"
  ADD COLUMN "channel_id" INTEGER, ADD COLUMN "sender_id" INTEGER, ADD COLUMN "sent_at" TIMESTAMPTZ(6);

-- A trigger, because nodes of the previous version insert copies without these columns.
CREATE FUNCTION "place_deleted_message"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.channel_id := (NEW.body->>'channel_id')::int;
  NEW.sender_id := (NEW.body->>'sender_id')::int;
  NEW.sent_at := (NEW.body->>'sent_at')::timestamptz;
  RETURN NEW;
END
$$;

CREATE TRIGGER "deleted_message_place" BEFORE INSERT OR UPDATE OF "body" ON "deleted_message"
  FOR EACH ROW EXECUTE FUNCTION "place_deleted_message"();

UPDATE "deleted_message" SET "channel_id" = ("body"->>'channel_id')::int, "sender_id" = ("body"->>'sender_id')::int,
  "sent_at" = ("body"->>'sent_at')::timestamptz;

CREATE INDEX "deleted_message_by_age" ON "deleted_message" ("realm_id", "channel_id", "sent_at");
CREATE INDEX "deleted_message_by_sender" ON "deleted_message" ("realm_id", "sender_id");
