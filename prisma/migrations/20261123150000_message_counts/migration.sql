-- CreateTable
CREATE TABLE "message_tally" (
    "realm_id" INTEGER NOT NULL,
    "through_id" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "message_tally_pkey" PRIMARY KEY ("realm_id")
);

-- CreateTable
CREATE TABLE "message_count" (
    "realm_id" INTEGER NOT NULL,
    "recipient_id" BIGINT NOT NULL,
    "key" TEXT NOT NULL,
    "through_id" BIGINT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "message_count_pkey" PRIMARY KEY ("recipient_id","key","through_id")
);

-- AddForeignKey
ALTER TABLE "message_tally" ADD CONSTRAINT "message_tally_realm_id_fkey" FOREIGN KEY ("realm_id") REFERENCES "realm"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language cannot say.

-- What somebody sent and has read by it is not unread for them: it is taken off what is counted for everybody.
CREATE INDEX "message_own" ON "message" (
    "sender_id", (COALESCE("sent_channel_id"::bigint * 2, "conversation_id"::bigint * 2 + 1)), "id")
  WHERE "read_by_sender" AND "channel_id" IS NOT DISTINCT FROM "sent_channel_id";

-- What is asked of nearly all that is read of a channel is in the index: else the planner may prefer the one by topic, look
-- through all of the channel in it, and put what it finds in order.
DROP INDEX "message_by_channel";
CREATE INDEX "message_by_channel" ON "message" ("channel_id", "id") INCLUDE ("sent_channel_id") WHERE "channel_id" IS NOT NULL;

-- Counts an organisation's next messages, at most p_limit of them, and tells whether it found as many.
--
-- One at a time does it, and passes by where another does. Nobody else's change is under way then: who moves or deletes
-- messages holds the row to its end, so that what is counted here is counted once.
CREATE FUNCTION "tally_messages"(p_realm_id integer, p_limit integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_from bigint;
  v_to bigint;
  v_found integer;
BEGIN
  SELECT t.through_id INTO v_from FROM message_tally t WHERE t.realm_id = p_realm_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT max(next.id), count(*) INTO v_to, v_found FROM (
    SELECT m.id FROM message m WHERE m.realm_id = p_realm_id AND m.id > v_from ORDER BY m.id LIMIT p_limit) AS next;
  IF v_found = 0 THEN RETURN false; END IF;

  WITH placed AS (
    SELECT COALESCE(m.channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1) AS recipient_id,
           m.channel_id IS NOT NULL AS has_topics, lower(m.topic) AS topic
    FROM message m
    WHERE m.realm_id = p_realm_id AND m.id > v_from AND m.id <= v_to AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
  ), fresh AS (
    SELECT p.recipient_id, '' AS key, count(*) AS count FROM placed p GROUP BY 1
    UNION ALL SELECT p.recipient_id, ':' || p.topic, count(*) FROM placed p WHERE p.has_topics GROUP BY 1, 2
  ), total AS (
    INSERT INTO message_count AS c (realm_id, recipient_id, key, through_id, count)
    SELECT p_realm_id, f.recipient_id, f.key, 9223372036854775807, f.count FROM fresh f
    ON CONFLICT (recipient_id, key, through_id) DO UPDATE SET count = c.count + EXCLUDED.count
    RETURNING c.recipient_id, c.key, c.count
  )
  -- A place on the way for every 8 messages, fewer where there are very many: so that what lies between two is soon looked
  -- through, and a message that goes changes a bounded number of them.
  INSERT INTO message_count (realm_id, recipient_id, key, through_id, count)
  SELECT p_realm_id, t.recipient_id, t.key, v_to, t.count FROM total t
  WHERE t.count - COALESCE((
      SELECT c.count FROM message_count c
      WHERE c.recipient_id = t.recipient_id AND c.key = t.key AND c.through_id <= v_from
      ORDER BY c.through_id DESC LIMIT 1), 0) >= GREATEST(8, t.count / 1024);

  UPDATE message_tally t SET through_id = v_to WHERE t.realm_id = p_realm_id;
  RETURN v_found = p_limit;
END
$$;

-- Adds the messages to what is counted where they stand, or takes them off it.
CREATE FUNCTION "shift_message_counts"(
  p_realm_id integer, p_sign integer, p_ids bigint[], p_recipient_ids bigint[], p_topics text[]
) RETURNS void LANGUAGE sql AS $$
  WITH m AS (
    SELECT * FROM unnest(p_ids, p_recipient_ids, p_topics) AS u(id, recipient_id, topic)
  ), placed AS (
    SELECT recipient_id, '' AS key, array_agg(id ORDER BY id) AS ids FROM m GROUP BY 1
    UNION ALL
    SELECT recipient_id, ':' || lower(topic), array_agg(id ORDER BY id) FROM m WHERE recipient_id % 2 = 0 GROUP BY 1, 2
  ), shifted AS (
    UPDATE message_count c SET count = c.count + p_sign * width_bucket(c.through_id, p.ids) FROM placed p
    WHERE c.recipient_id = p.recipient_id AND c.key = p.key AND c.through_id >= p.ids[1]
    RETURNING c.recipient_id, c.key
  )
  INSERT INTO message_count AS c (realm_id, recipient_id, key, through_id, count)
  SELECT p_realm_id, p.recipient_id, p.key, 9223372036854775807, p_sign * cardinality(p.ids) FROM placed p
  WHERE NOT EXISTS (SELECT FROM shifted s WHERE s.recipient_id = p.recipient_id AND s.key = p.key)
  ON CONFLICT (recipient_id, key, through_id) DO UPDATE SET count = c.count + EXCLUDED.count
$$;

-- Keeps what is counted true when messages that are counted go, or go elsewhere.
--
-- One change of an organisation at a time does it: two moves that cross change what is counted at either end in opposite
-- orders, and would wait for each other.
CREATE FUNCTION "recount_messages"() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER "message_deleted" AFTER DELETE ON "message" REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION "recount_messages"();
CREATE TRIGGER "message_moved" AFTER UPDATE ON "message" REFERENCING OLD TABLE AS gone NEW TABLE AS come
  FOR EACH STATEMENT EXECUTE FUNCTION "recount_messages"();

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
INSERT INTO "message_tally" ("realm_id") SELECT "id" FROM "realm";
