-- Version 1

-- A trigger, because nodes of the previous version insert copies without these columns.
CREATE OR REPLACE FUNCTION "place_deleted_message"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.channel_id := (NEW.body->>'channel_id')::int;
  NEW.sender_id := (NEW.body->>'sender_id')::int;
  NEW.sent_at := (NEW.body->>'sent_at')::timestamptz;
  RETURN NEW;
END
$$;
