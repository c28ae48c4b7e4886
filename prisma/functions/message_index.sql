-- Version 1

-- Indexes messages of an organization, at most `p_limit` of each kind: edited and moved ones, those sent since the last call,
-- and those sent before the index existed, newest first. Returns whether more are left. One transaction at a time does it.
CREATE OR REPLACE FUNCTION "index_messages"(p_realm_id integer, p_limit integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_from bigint;
  v_through bigint;
  v_stale bigint[];
  v_new bigint[];
  v_old bigint[] := '{}';
BEGIN
  SELECT p.from_id, p.through_id INTO v_from, v_through FROM search_progress p
    WHERE p.realm_id = p_realm_id FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;

  WITH done AS (
    DELETE FROM search_stale s WHERE s.realm_id = p_realm_id AND s.id = ANY (
      ARRAY(SELECT n.id FROM search_stale n WHERE n.realm_id = p_realm_id ORDER BY n.id LIMIT p_limit))
    RETURNING s.message_id)
  SELECT COALESCE(array_agg(d.message_id), '{}') INTO v_stale FROM done d;
  v_new := ARRAY(
    SELECT m.id FROM message m WHERE m.realm_id = p_realm_id AND m.id > v_through ORDER BY m.id LIMIT p_limit);
  IF v_from > 0 THEN
    v_old := ARRAY(
      SELECT m.id FROM message m WHERE m.realm_id = p_realm_id AND m.id < v_from ORDER BY m.id DESC LIMIT p_limit);
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
        from_id = CASE WHEN cardinality(v_old) < p_limit THEN 0 ELSE v_old[p_limit] END
    WHERE p.realm_id = p_realm_id;
  RETURN greatest(cardinality(v_new), cardinality(v_old), cardinality(v_stale)) = p_limit;
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
