-- Version 1

-- Gives a new policy the spelling of the one that the user has of the topic. Nodes of the previous version find a conflict by
-- lower(topic) alone.
CREATE OR REPLACE FUNCTION "spell_user_topic"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_topic text;
BEGIN
  SELECT t.topic INTO v_topic FROM user_topic t
  WHERE t.realm_id = NEW.realm_id AND t.user_id = NEW.user_id AND t.channel_id = NEW.channel_id
    AND topic_key(t.topic) = topic_key(NEW.topic) AND lower(t.topic) <> lower(NEW.topic);
  IF FOUND THEN NEW.topic := v_topic; END IF;
  RETURN NEW;
END
$$;
