-- Version 3

-- Indexes messages of an organization, of each kind at most `p_limit` messages and some 16 kB of text: edited and moved ones,
-- those sent since the last call, and those sent before the index existed, newest first. The embedded database answers nothing
-- else meanwhile. Returns whether more are left. One transaction at a time does it.
CREATE OR REPLACE FUNCTION "index_messages"(p_realm_id integer, p_limit integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  -- A call indexes messages of a kind until their texts have this size, in bytes; at least one message.
  v_bytes CONSTANT bigint := 16384;
  v_from bigint;
  v_through bigint;
  v_stale bigint[];
  v_new bigint[];
  v_old bigint[] := '{}';
  v_more_stale boolean;
  v_more_new boolean;
  v_more_old boolean := false;
BEGIN
  SELECT p.from_id, p.through_id INTO v_from, v_through FROM search_progress p
    WHERE p.realm_id = p_realm_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;

  WITH listed AS MATERIALIZED (
    SELECT n.id, n.message_id FROM search_stale n WHERE n.realm_id = p_realm_id ORDER BY n.id LIMIT p_limit),
  sized AS MATERIALIZED (
    SELECT l.id, COALESCE(sum(octet_length(m.content)) OVER (ORDER BY l.id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS before
    FROM listed l LEFT JOIN message m ON m.realm_id = p_realm_id AND m.id = l.message_id),
  done AS (
    DELETE FROM search_stale s WHERE s.realm_id = p_realm_id
      AND s.id = ANY (ARRAY(SELECT z.id FROM sized z WHERE z.before < v_bytes))
    RETURNING s.message_id)
  SELECT COALESCE((SELECT array_agg(d.message_id) FROM done d), '{}'),
         (SELECT count(*) = p_limit OR COALESCE(max(z.before) >= v_bytes, false) FROM sized z)
    INTO v_stale, v_more_stale;
  SELECT COALESCE(array_agg(z.id ORDER BY z.id) FILTER (WHERE z.before < v_bytes), '{}'),
         count(*) = p_limit OR COALESCE(max(z.before) >= v_bytes, false) INTO v_new, v_more_new
    FROM (
      SELECT n.id, COALESCE(sum(n.bytes) OVER (ORDER BY n.id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS before
      FROM (SELECT m.id, octet_length(m.content) AS bytes FROM message m
            WHERE m.realm_id = p_realm_id AND m.id > v_through ORDER BY m.id LIMIT p_limit) AS n
    ) AS z;
  IF v_from > 0 THEN
    SELECT COALESCE(array_agg(z.id ORDER BY z.id DESC) FILTER (WHERE z.before < v_bytes), '{}'),
           count(*) = p_limit OR COALESCE(max(z.before) >= v_bytes, false) INTO v_old, v_more_old
      FROM (
        SELECT n.id, COALESCE(sum(n.bytes) OVER (ORDER BY n.id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS before
        FROM (SELECT m.id, octet_length(m.content) AS bytes FROM message m
              WHERE m.realm_id = p_realm_id AND m.id < v_from ORDER BY m.id DESC LIMIT p_limit) AS n
      ) AS z;
  END IF;

  -- Messages that are edited after this statement began are stale again.
  INSERT INTO searchable_message (realm_id, message_id, recipient_id, topic_hash, sender_id, has_mask, folded)
    SELECT m.realm_id, m.id, COALESCE(m.channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1), topic_hash(m.topic),
           m.sender_id, m.has_link::integer + 2 * m.has_image::integer + 4 * m.has_attachment::integer, search_fold(m.topic || ' ' || m.content)
    FROM message m WHERE m.realm_id = p_realm_id AND m.id = ANY (v_stale || v_new || v_old)
  ON CONFLICT (realm_id, message_id) DO UPDATE
    SET recipient_id = EXCLUDED.recipient_id, topic_hash = EXCLUDED.topic_hash, has_mask = EXCLUDED.has_mask, folded = EXCLUDED.folded;

  UPDATE search_progress p
    SET through_id = COALESCE(v_new[cardinality(v_new)], v_through),
        from_id = CASE WHEN v_more_old THEN v_old[cardinality(v_old)] ELSE 0 END
    WHERE p.realm_id = p_realm_id;
  RETURN v_more_stale OR v_more_new OR v_more_old;
END
$$;

-- Records that the index entry of a message differs from its text or location.
CREATE OR REPLACE FUNCTION "note_stale_search"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_stale (realm_id, message_id) VALUES (NEW.realm_id, NEW.id);
  RETURN NULL;
END
$$;

-- A trigger, so that every new organization has its progress.
CREATE OR REPLACE FUNCTION "begin_search_progress"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_progress (realm_id) VALUES (NEW.id);
  RETURN NULL;
END
$$;
