-- What many organisations send at the same moment looks for no keys of before: nearly all are new, and the few that are not
-- are found when they are to be kept. Theirs goes by itself then, and is looked after with care.
CREATE FUNCTION "send_messages"(
  p_realm_id integer,
  -- The arguments of each for "send_message", by the same names without "p_"; and, where there are such, "policy", which
  -- takes the place of none, with the event that tells of it, and "kept": the key, a number to lock it by, the hash of the
  -- input in hex, and the reply as JSON, in which two numbers stand for the message's id and for that of the last event.
  p_messages jsonb,
  -- Whether keys are taken for new ones: where one is not, or is being used, all fails (40001).
  p_takes_keys_for_new boolean
) RETURNS TABLE (
  place integer, message_id bigint, event_id bigint, recipient_id bigint, policy_event_id bigint, reply text, xid text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_skipped bigint[] := '{}';
  v_new bigint[] := '{}';
  v_count integer;
  m record;
  sent record;
  v_policy_event_id bigint;
  v_reply text;
BEGIN
  IF NOT p_takes_keys_for_new AND jsonb_path_exists(p_messages, '$[*].kept') THEN
    v_skipped := ARRAY(
      SELECT k.place FROM (
        SELECT p.place, (p.kept->>'lock')::integer AS lock,
               row_number() OVER (PARTITION BY p.kept->'user_id', p.kept->'key' ORDER BY p.place) AS nth
        FROM ROWS FROM (jsonb_to_recordset(p_messages) AS (kept jsonb)) WITH ORDINALITY AS p(kept, place)
        WHERE p.kept IS NOT NULL) AS k
      WHERE k.nth > 1 OR NOT pg_try_advisory_xact_lock(7340170, k.lock));
    -- A statement of its own: it sees what those who held the keys have committed.
    FOR m IN
      SELECT p.place, CASE WHEN r.input_hash = decode(p.kept->>'input_hash', 'hex') THEN r.result #>> '{}' END AS reply
      FROM ROWS FROM (jsonb_to_recordset(p_messages) AS (kept jsonb)) WITH ORDINALITY AS p(kept, place)
      -- By its key, for each: the planner would rather read all keys there are.
      CROSS JOIN LATERAL (
        SELECT k.input_hash, k.result FROM idempotency_record k
        WHERE k.realm_id = p_realm_id AND k.user_id = (p.kept->>'user_id')::integer AND k.key = p.kept->>'key'
        LIMIT 1) AS r
      WHERE p.place <> ALL (v_skipped)
    LOOP
      v_skipped := v_skipped || m.place;
      IF m.reply IS NOT NULL THEN
        RETURN QUERY SELECT m.place::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, m.reply, NULL::text;
      END IF;
    END LOOP;
  END IF;

  IF jsonb_path_exists(p_messages, '$[*].policy') THEN
    -- Of two messages that begin a topic the first sets it; where an attempt has that nobody heard of, none does.
    v_new := ARRAY(
      SELECT DISTINCT ON (y.user_id, p.channel_id, lower(y.topic)) p.place
      FROM ROWS FROM (jsonb_to_recordset(p_messages) AS (channel_id integer, policy jsonb, repeated boolean))
        WITH ORDINALITY AS p(channel_id, policy, repeated, place),
        jsonb_to_record(p.policy) AS y(user_id integer, topic text, policy smallint)
      WHERE p.policy IS NOT NULL AND p.place <> ALL (v_skipped) AND NOT (p.repeated AND EXISTS (
        SELECT FROM user_topic t WHERE t.realm_id = p_realm_id AND t.user_id = y.user_id AND t.channel_id = p.channel_id
          AND lower(t.topic) = lower(y.topic) AND t.policy = y.policy))
      ORDER BY y.user_id, p.channel_id, lower(y.topic), p.place);
    INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
      SELECT p_realm_id, y.user_id, p.channel_id, y.topic, y.policy, p.sent_at
      FROM ROWS FROM (jsonb_to_recordset(p_messages) AS (channel_id integer, policy jsonb, sent_at timestamptz))
        WITH ORDINALITY AS p(channel_id, policy, sent_at, place),
        jsonb_to_record(p.policy) AS y(user_id integer, topic text, policy smallint)
      WHERE p.place = ANY (v_new)
      ORDER BY y.user_id, p.channel_id, lower(y.topic)
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> cardinality(v_new) THEN RAISE EXCEPTION 'the policy has changed' USING ERRCODE = '40001'; END IF;
  END IF;

  FOR m IN SELECT p.* FROM ROWS FROM (jsonb_to_recordset(p_messages) AS (
      payload jsonb, channel_id integer, member_ids integer[], public_channel_id integer, channel_version text,
      subscriber_id integer, subscription_version text, sender_role smallint, mentioned integer[],
      topic_mentioned integer[], alerted integer[], read_by_sender boolean, channel_wildcard boolean, has_link boolean,
      has_image boolean, has_attachment boolean, sent_at timestamptz, send_token bigint, repeated boolean,
      policy jsonb, kept jsonb
    )) WITH ORDINALITY AS p(
      payload, channel_id, member_ids, public_channel_id, channel_version, subscriber_id, subscription_version, sender_role,
      mentioned, topic_mentioned, alerted, read_by_sender, channel_wildcard, has_link, has_image, has_attachment, sent_at,
      send_token, repeated, policy, kept, place)
  LOOP
    CONTINUE WHEN m.place = ANY (v_skipped);
    IF p_takes_keys_for_new AND m.kept IS NOT NULL
       AND NOT pg_try_advisory_xact_lock(7340170, (m.kept->>'lock')::integer) THEN
      RAISE EXCEPTION 'the key is being used' USING ERRCODE = '40001';
    END IF;
    sent := send_message(
      p_realm_id, m.payload, m.channel_id, m.member_ids, m.public_channel_id, m.channel_version, m.subscriber_id,
      m.subscription_version, m.sender_role, m.mentioned, m.topic_mentioned, m.alerted, m.read_by_sender,
      m.channel_wildcard, m.has_link, m.has_image, m.has_attachment, m.sent_at, m.send_token, m.repeated);

    v_policy_event_id := NULL;
    IF m.place = ANY (v_new) THEN
      UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = p_realm_id
        RETURNING last_id INTO STRICT v_policy_event_id;
      INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids, created_at)
        VALUES (p_realm_id, v_policy_event_id, m.policy->>'event_type', m.policy->'payload', '{}',
                ARRAY[(m.policy->>'user_id')::integer], '{}', m.sent_at);
    END IF;

    v_reply := NULL;
    IF m.kept IS NOT NULL THEN
      v_reply := replace(replace(m.kept->>'reply', m.kept->>'id_mark', sent.message_id::text),
                         m.kept->>'position_mark', COALESCE(v_policy_event_id, sent.event_id)::text);
      INSERT INTO idempotency_record (realm_id, user_id, key, input_hash, result, reply_bytes)
        VALUES (p_realm_id, (m.kept->>'user_id')::integer, m.kept->>'key', decode(m.kept->>'input_hash', 'hex'),
                to_jsonb(v_reply), octet_length(v_reply))
        ON CONFLICT DO NOTHING;
      -- It was not new, or a node of before, which locks no keys, was quicker.
      IF NOT FOUND THEN RAISE EXCEPTION 'the key was used' USING ERRCODE = '40001'; END IF;
    END IF;

    place := m.place;
    message_id := sent.message_id;
    event_id := sent.event_id;
    recipient_id := sent.recipient_id;
    policy_event_id := v_policy_event_id;
    reply := v_reply;
    xid := sent.xid;
    RETURN NEXT;
  END LOOP;
END
$$;

-- What nodes of before call.
CREATE OR REPLACE FUNCTION "send_messages"(p_realm_id integer, p_messages jsonb) RETURNS TABLE (
  place integer, message_id bigint, event_id bigint, recipient_id bigint, policy_event_id bigint, reply text, xid text
)
LANGUAGE sql AS $$
  SELECT s.* FROM send_messages(p_realm_id, p_messages, false) AS s
$$;

-- As before, but that it asks once for all that must not have changed, and is called without a query.
DROP FUNCTION "send_message";

CREATE FUNCTION "send_message"(
  p_realm_id integer,
  -- The event's payload, all but "id" and "recipientId".
  p_payload jsonb,
  -- The channel, or the ids of all who take part in the conversation, ascending.
  p_channel_id integer,
  p_member_ids integer[],
  -- The channel again when all of the organisation may hear it.
  p_public_channel_id integer,
  -- The versions (xmin) of the rows that the right to send was read from: the channel, and one subscription of it.
  p_channel_version text,
  p_subscriber_id integer,
  p_subscription_version text,
  p_sender_role smallint,
  -- Who is named, and how.
  p_mentioned integer[],
  p_topic_mentioned integer[],
  p_alerted integer[],
  p_read_by_sender boolean,
  p_channel_wildcard boolean,
  p_has_link boolean,
  p_has_image boolean,
  p_has_attachment boolean,
  p_sent_at timestamptz,
  p_send_token bigint,
  -- Whether an earlier attempt may have come through without our having heard of it.
  p_repeated boolean,
  OUT message_id bigint,
  OUT event_id bigint,
  OUT recipient_id bigint,
  OUT xid text
)
LANGUAGE plpgsql AS $$
DECLARE
  v_sender_id integer := (p_payload->'sender'->>'id')::integer;
  v_conversation_id integer;
  v_earlier record;
BEGIN
  UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = p_realm_id RETURNING last_id INTO STRICT event_id;

  IF p_repeated THEN
    -- An attempt is seconds old: nobody sends so many meanwhile, and some have sent millions.
    SELECT m.id, m.sent_event_id, COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1) AS recipient_id
      INTO v_earlier
      FROM (SELECT * FROM message s WHERE s.sender_id = v_sender_id ORDER BY s.id DESC LIMIT 20000) m
      WHERE m.send_token = p_send_token;
    IF FOUND THEN
      message_id := v_earlier.id;
      event_id := v_earlier.sent_event_id;
      recipient_id := v_earlier.recipient_id;
      xid := pg_current_xact_id()::text;
      RETURN;
    END IF;
  END IF;

  IF p_channel_id IS NOT NULL THEN
    PERFORM FROM user_account u, channel c
      WHERE u.id = v_sender_id AND u.realm_id = p_realm_id AND u.is_active AND u.role = p_sender_role
        AND c.id = p_channel_id AND c.realm_id = p_realm_id AND NOT c.is_archived AND c.xmin::text = p_channel_version
        AND (p_subscription_version IS NULL OR EXISTS (
          SELECT FROM subscription s
          WHERE s.realm_id = p_realm_id AND s.user_id = p_subscriber_id AND s.channel_id = p_channel_id AND s.active
            AND s.xmin::text = p_subscription_version));
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the sender, the channel or the subscription has changed' USING ERRCODE = '40001';
    END IF;
    recipient_id := p_channel_id::bigint * 2;
  ELSE
    PERFORM FROM user_account u
      WHERE u.id = v_sender_id AND u.realm_id = p_realm_id AND u.is_active AND u.role = p_sender_role;
    IF NOT FOUND THEN RAISE EXCEPTION 'the sender has changed' USING ERRCODE = '40001'; END IF;
    IF (SELECT count(*) FROM user_account u
        WHERE u.realm_id = p_realm_id AND u.id = ANY(p_member_ids) AND u.is_active) <> cardinality(p_member_ids) THEN
      RAISE EXCEPTION 'the recipients have changed' USING ERRCODE = '40001';
    END IF;
    SELECT c.id INTO v_conversation_id FROM conversation c
      WHERE c.realm_id = p_realm_id AND c.member_ids = p_member_ids;
    IF NOT FOUND THEN
      INSERT INTO conversation (realm_id, member_ids) VALUES (p_realm_id, p_member_ids) RETURNING id INTO v_conversation_id;
      INSERT INTO conversation_member (realm_id, user_id, conversation_id)
        SELECT p_realm_id, member_id, v_conversation_id FROM unnest(p_member_ids) AS member_id;
    END IF;
    recipient_id := v_conversation_id::bigint * 2 + 1;
  END IF;

  message_id := nextval('message_id_seq');

  INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, conversation_id, topic, content,
                       rendered_content, client_name, sent_at, sent_event_id, read_by_sender, channel_wildcard, has_link,
                       has_image, has_attachment, send_token)
  VALUES (p_realm_id, message_id, v_sender_id, p_channel_id, p_channel_id, v_conversation_id, p_payload->>'topic',
          p_payload->>'content', p_payload->>'renderedContent', p_payload->>'client', p_sent_at, event_id, p_read_by_sender,
          p_channel_wildcard, p_has_link, p_has_image, p_has_attachment, p_send_token);

  IF cardinality(p_mentioned) + cardinality(p_topic_mentioned) + cardinality(p_alerted) > 0 THEN
    INSERT INTO user_message (realm_id, user_id, message_id, mentioned, topic_wildcard_mentioned, has_alert_word)
    SELECT p_realm_id, named.id, send_message.message_id, named.id = ANY(p_mentioned), named.id = ANY(p_topic_mentioned),
           named.id = ANY(p_alerted)
    FROM (SELECT DISTINCT unnest(p_mentioned || p_topic_mentioned || p_alerted) AS id) AS named;
  END IF;

  INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids, public_channel_id, created_at)
  VALUES (p_realm_id, event_id, 'message',
          p_payload || jsonb_build_object('id', message_id, 'recipientId', recipient_id),
          CASE WHEN p_channel_id IS NULL THEN '{}' ELSE ARRAY[p_channel_id] END,
          COALESCE(p_member_ids, ARRAY[v_sender_id]), '{}', p_public_channel_id, p_sent_at);

  xid := pg_current_xact_id()::text;
END
$$;

CREATE OR REPLACE FUNCTION "send_messages_of_many"(
  -- For each organisation {realm_id, messages}: what "send_messages" takes.
  p_organizations jsonb
) RETURNS TABLE (
  -- Of each organisation that was not left out, one row of place 0 that says so, and those of "send_messages".
  realm_id integer, place integer, message_id bigint, event_id bigint, recipient_id bigint, policy_event_id bigint,
  reply text, xid text
)
LANGUAGE plpgsql
-- Nobody waits for what somebody else's message waits for.
SET lock_timeout = '10ms'
AS $$
#variable_conflict use_column
DECLARE
  o record;
BEGIN
  FOR o IN SELECT p.* FROM jsonb_to_recordset(p_organizations) AS p(realm_id integer, messages jsonb) LOOP
    BEGIN
      PERFORM FROM event_counter c WHERE c.realm_id = o.realm_id FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN
        RETURN QUERY
          SELECT o.realm_id, s.place, s.message_id, s.event_id, s.recipient_id, s.policy_event_id, s.reply, s.xid
          FROM send_messages(o.realm_id, o.messages, true) AS s;
        realm_id := o.realm_id;
        place := 0;
        message_id := NULL;
        event_id := NULL;
        recipient_id := NULL;
        policy_event_id := NULL;
        reply := NULL;
        xid := NULL;
        RETURN NEXT;
      END IF;
    EXCEPTION WHEN OTHERS THEN
      -- They are sent by themselves, and told what it is then.
      NULL;
    END;
  END LOOP;
END
$$;
