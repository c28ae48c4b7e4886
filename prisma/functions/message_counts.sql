-- Version 2

-- Counts the next messages of an organization, at most `p_limit`. Returns whether it found that many.
--
-- One transaction at a time does it; others return immediately. Transactions that move or delete messages hold the same row to
-- their end, so that each message is counted once.
CREATE OR REPLACE FUNCTION "tally_messages"(p_realm_id integer, p_limit integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_from bigint;
  v_to bigint;
  v_found integer;
  -- The counted channels, topics and conversations, and their new totals.
  v_recipient_ids bigint[];
  v_keys text[];
  v_counts bigint[];
BEGIN
  SELECT t.through_id INTO v_from FROM message_tally t WHERE t.realm_id = p_realm_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT max(next.id), count(*) INTO v_to, v_found FROM (
    SELECT m.id FROM message m WHERE m.realm_id = p_realm_id AND m.id > v_from ORDER BY m.id LIMIT p_limit) AS next;
  IF v_found = 0 THEN RETURN false; END IF;

  WITH placed AS (
    SELECT COALESCE(m.channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1) AS recipient_id,
           m.channel_id IS NOT NULL AS has_topics, topic_key(m.topic) AS topic
    FROM message m
    WHERE m.realm_id = p_realm_id AND m.id > v_from AND m.id <= v_to AND m.channel_id IS NOT DISTINCT FROM m.sent_channel_id
  ), fresh AS (
    SELECT p.recipient_id, '' AS key, count(*) AS count FROM placed p GROUP BY 1
    UNION ALL SELECT p.recipient_id, ':' || p.topic, count(*) FROM placed p WHERE p.has_topics GROUP BY 1, 2
  ), total AS (
    INSERT INTO message_count AS c (realm_id, recipient_id, key, through_id, count)
    SELECT p_realm_id, f.recipient_id, f.key, 9223372036854775807, f.count FROM fresh f
    ON CONFLICT (realm_id, recipient_id, key, through_id) DO UPDATE SET count = c.count + EXCLUDED.count
    RETURNING c.recipient_id, c.key, c.count
  )
  SELECT array_agg(t.recipient_id), array_agg(t.key), array_agg(t.count) INTO v_recipient_ids, v_keys, v_counts FROM total t;

  -- An intermediate count for every 8 messages, fewer if there are very many. So few messages lie between two counts, and a
  -- message that is moved or deleted changes a bounded number of counts.
  INSERT INTO message_count (realm_id, recipient_id, key, through_id, count)
  SELECT p_realm_id, t.recipient_id, t.key, v_to, t.count
  FROM unnest(v_recipient_ids, v_keys, v_counts) AS t(recipient_id, key, count)
  WHERE t.count - COALESCE((
      SELECT c.count FROM message_count c
      WHERE c.realm_id = p_realm_id AND c.recipient_id = t.recipient_id AND c.key = t.key AND c.through_id <= v_from
      ORDER BY c.through_id DESC LIMIT 1), 0) >= GREATEST(8, t.count / 1024);

  UPDATE message_tally t SET through_id = v_to WHERE t.realm_id = p_realm_id;
  RETURN v_found = p_limit;
END
$$;

-- Adds messages to the counts of their channels, topics and conversations (`p_sign` 1), or subtracts them (-1).
CREATE OR REPLACE FUNCTION "shift_message_counts"(
  p_realm_id integer, p_sign integer, p_ids bigint[], p_recipient_ids bigint[], p_topics text[]
) RETURNS void LANGUAGE sql AS $$
  WITH m AS (
    SELECT * FROM unnest(p_ids, p_recipient_ids, p_topics) AS u(id, recipient_id, topic)
  ), placed AS (
    SELECT recipient_id, '' AS key, array_agg(id ORDER BY id) AS ids FROM m GROUP BY 1
    UNION ALL
    SELECT recipient_id, ':' || topic_key(topic), array_agg(id ORDER BY id) FROM m WHERE recipient_id % 2 = 0 GROUP BY 1, 2
  ), shifted AS (
    UPDATE message_count c SET count = c.count + p_sign * width_bucket(c.through_id, p.ids) FROM placed p
    WHERE c.realm_id = p_realm_id AND c.recipient_id = p.recipient_id AND c.key = p.key AND c.through_id >= p.ids[1]
    RETURNING c.recipient_id, c.key
  )
  INSERT INTO message_count AS c (realm_id, recipient_id, key, through_id, count)
  SELECT p_realm_id, p.recipient_id, p.key, 9223372036854775807, p_sign * cardinality(p.ids) FROM placed p
  WHERE NOT EXISTS (SELECT FROM shifted s WHERE s.recipient_id = p.recipient_id AND s.key = p.key)
  ON CONFLICT (realm_id, recipient_id, key, through_id) DO UPDATE SET count = c.count + EXCLUDED.count
$$;

-- Updates the counts if counted messages are moved or deleted.
--
-- One transaction per organization at a time does it: two moves in opposite directions change the counts of both ends in
-- opposite orders, and would wait for each other.
CREATE OR REPLACE FUNCTION "recount_messages"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_realm_id integer;
  v_through bigint;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    -- Nearly all updates change only the content.
    PERFORM FROM gone g JOIN come c ON c.realm_id = g.realm_id AND c.id = g.id
      WHERE c.channel_id IS DISTINCT FROM g.channel_id OR topic_key(c.topic) <> topic_key(g.topic);
    IF NOT FOUND THEN RETURN NULL; END IF;
  END IF;
  FOR v_realm_id IN SELECT DISTINCT g.realm_id FROM gone g ORDER BY 1 LOOP
    -- Locked until the transaction ends: see tally_messages.
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

-- A trigger, so that the messages of every new organization are counted.
CREATE OR REPLACE FUNCTION "begin_message_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO message_tally (realm_id) VALUES (NEW.id);
  RETURN NULL;
END
$$;
