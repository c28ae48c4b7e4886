-- What the schema language cannot say.

-- Keeps what is counted true when messages that are counted go, or go elsewhere.
--
-- One change of an organisation at a time does it: two moves that cross change what is counted at either end in opposite
-- orders, and would wait for each other.
CREATE OR REPLACE FUNCTION "recount_messages"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_realm_id integer;
  v_through bigint;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    -- Nearly all updates change what messages say.
    PERFORM FROM gone g JOIN come c ON c.realm_id = g.realm_id AND c.id = g.id
      WHERE c.channel_id IS DISTINCT FROM g.channel_id OR lower(c.topic) <> lower(g.topic);
    IF NOT FOUND THEN RETURN NULL; END IF;
  END IF;
  FOR v_realm_id IN SELECT DISTINCT g.realm_id FROM gone g ORDER BY 1 LOOP
    -- Held to the end: see tally_messages.
    SELECT t.through_id INTO v_through FROM message_tally t WHERE t.realm_id = v_realm_id FOR NO KEY UPDATE;
    CONTINUE WHEN NOT FOUND;
    PERFORM shift_message_counts(
        v_realm_id, -1, array_agg(m.id),
        array_agg(COALESCE(m.channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)), array_agg(m.topic))
      FROM gone m
      WHERE m.realm_id = v_realm_id AND m.id <= v_through AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id;
    CONTINUE WHEN TG_OP = 'DELETE';
    PERFORM shift_message_counts(
        v_realm_id, 1, array_agg(m.id),
        array_agg(COALESCE(m.channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1)), array_agg(m.topic))
      FROM come m
      WHERE m.realm_id = v_realm_id AND m.id <= v_through AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id;
  END LOOP;
  RETURN NULL;
END
$$;

-- Every organisation is counted, whoever makes it: a node of before, which knows of no counts, too.
CREATE FUNCTION "begin_message_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO message_tally (realm_id) VALUES (NEW.id);
  RETURN NULL;
END
$$;
CREATE TRIGGER "realm_made" AFTER INSERT ON "realm" FOR EACH ROW EXECUTE FUNCTION "begin_message_tally"();

-- While no message is on its way out: one that went before its organisation was counted must not be counted after.
LOCK TABLE "message" IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO "message_tally" ("realm_id") SELECT "id" FROM "realm" ON CONFLICT DO NOTHING;
