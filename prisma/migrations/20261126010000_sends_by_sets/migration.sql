-- What is sent together is written together: one look at all that must not have changed, and one INSERT for the messages, for
-- the events and for the keys, of however many organisations. What needs more than that goes as before, one by one: the first
-- message of a topic that sets its sender's policy or of a conversation, what is sent again after a lost answer, a key that was
-- used, and whatever has changed.
ALTER FUNCTION "send_messages"(integer, jsonb, boolean) RENAME TO "send_messages_one_by_one";

-- Of each organisation all messages are sent, in their order, or none: it has no rows then.
CREATE FUNCTION "send_plain_messages"(
  -- For each organisation {realm_id, messages}: what "send_messages" takes.
  p_organizations jsonb,
  -- Those whose row of event_counter the caller holds: what is read from here on is as it stays until they are sent.
  p_realm_ids integer[]
) RETURNS TABLE (
  realm_id integer, place integer, message_id bigint, event_id bigint, recipient_id bigint, policy_event_id bigint,
  reply text, xid text
)
LANGUAGE plpgsql
-- It would be planned anew for each number of organisations, which takes longer than to send; and what is planned while a table
-- is small stays as it is when the table has grown: all is looked up by indexes.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  r record;
BEGIN
  FOR r IN
    WITH given AS MATERIALIZED (
      SELECT o.realm_id, jsonb_array_length(o.messages) AS count, p.*, (p.payload->'sender'->>'id')::integer AS sender_id,
             (p.kept->>'user_id')::integer AS key_user_id, p.kept->>'key' AS key
      FROM jsonb_to_recordset(p_organizations) AS o(realm_id integer, messages jsonb),
           ROWS FROM (jsonb_to_recordset(o.messages) AS (
             payload jsonb, channel_id integer, member_ids integer[], public_channel_id integer, channel_version text,
             subscriber_id integer, subscription_version text, sender_role smallint, mentioned integer[],
             topic_mentioned integer[], alerted integer[], read_by_sender boolean, channel_wildcard boolean,
             has_link boolean, has_image boolean, has_attachment boolean, sent_at timestamptz, send_token bigint,
             repeated boolean, policy jsonb, kept jsonb
           )) WITH ORDINALITY AS p(
             payload, channel_id, member_ids, public_channel_id, channel_version, subscriber_id, subscription_version,
             sender_role, mentioned, topic_mentioned, alerted, read_by_sender, channel_wildcard, has_link, has_image,
             has_attachment, sent_at, send_token, repeated, policy, kept, place)
      WHERE o.realm_id = ANY (p_realm_ids)
    ), looked_up AS MATERIALIZED (
      SELECT g.*, d.id AS conversation_id,
             COALESCE(
               NOT g.repeated AND g.policy IS NULL AND u.is_there
               AND CASE
                 WHEN g.channel_id IS NOT NULL
                 THEN c.is_there AND (g.subscription_version IS NULL OR s.is_there)
                 ELSE d.id IS NOT NULL AND cardinality(g.member_ids) = (
                   SELECT count(*) FROM user_account a
                   WHERE a.realm_id = g.realm_id AND a.id = ANY (g.member_ids) AND a.is_active)
               END
               AND CASE
                 WHEN g.kept IS NULL THEN true
                 ELSE k.is_there IS NULL
                   AND row_number() OVER (PARTITION BY g.realm_id, g.key_user_id, g.key ORDER BY g.place) = 1
                   AND pg_try_advisory_xact_lock(7340170, (g.kept->>'lock')::integer)
               END,
               false) AS is_plain
      FROM given g
      -- Each for each message: the planner would rather read all users there are.
      LEFT JOIN LATERAL (
        SELECT true AS is_there FROM user_account a
        WHERE a.realm_id = g.realm_id AND a.id = g.sender_id AND a.is_active AND a.role = g.sender_role LIMIT 1) AS u ON true
      LEFT JOIN LATERAL (
        SELECT true AS is_there FROM channel c
        WHERE c.realm_id = g.realm_id AND c.id = g.channel_id AND NOT c.is_archived AND c.xmin::text = g.channel_version
        LIMIT 1) AS c ON true
      LEFT JOIN LATERAL (
        SELECT true AS is_there FROM subscription s
        WHERE s.realm_id = g.realm_id AND s.user_id = g.subscriber_id AND s.channel_id = g.channel_id AND s.active
          AND s.xmin::text = g.subscription_version LIMIT 1) AS s ON true
      LEFT JOIN LATERAL (
        SELECT d.id FROM conversation d
        WHERE d.realm_id = g.realm_id AND d.member_ids = g.member_ids LIMIT 1) AS d ON true
      LEFT JOIN LATERAL (
        SELECT true AS is_there FROM idempotency_record k
        WHERE k.realm_id = g.realm_id AND k.user_id = g.key_user_id AND k.key = g.key LIMIT 1) AS k ON true
    ), counted AS (
      UPDATE event_counter c
      SET last_id = c.last_id + (SELECT l.count FROM looked_up l WHERE l.realm_id = c.realm_id LIMIT 1)
      -- A list, so that each is found by the index.
      WHERE c.realm_id = ANY (
        ARRAY(SELECT l.realm_id FROM looked_up l GROUP BY l.realm_id HAVING bool_and(l.is_plain)))
      RETURNING c.realm_id, c.last_id
    ), numbered AS MATERIALIZED (
      -- After they are in order: of an organisation's messages, ids rise as events' do.
      SELECT n.*, nextval('message_id_seq') AS message_id, n.last_id - n.count + n.place AS event_id,
             COALESCE(n.channel_id::bigint * 2, n.conversation_id::bigint * 2 + 1) AS recipient_id
      FROM (
        SELECT l.*, c.last_id FROM looked_up l JOIN counted c ON c.realm_id = l.realm_id
        ORDER BY l.realm_id, l.place) AS n
    ), messages AS (
      INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, conversation_id, topic, content,
                           rendered_content, client_name, sent_at, sent_event_id, read_by_sender, channel_wildcard, has_link,
                           has_image, has_attachment, send_token)
      SELECT n.realm_id, n.message_id, n.sender_id, n.channel_id, n.channel_id, n.conversation_id, n.payload->>'topic',
             n.payload->>'content', n.payload->>'renderedContent', n.payload->>'client', n.sent_at, n.event_id,
             n.read_by_sender, n.channel_wildcard, n.has_link, n.has_image, n.has_attachment, n.send_token
      FROM numbered n
    ), mentions AS (
      INSERT INTO user_message (realm_id, user_id, message_id, mentioned, topic_wildcard_mentioned, has_alert_word)
      SELECT n.realm_id, named.id, n.message_id, named.id = ANY (n.mentioned), named.id = ANY (n.topic_mentioned),
             named.id = ANY (n.alerted)
      FROM numbered n,
           LATERAL (SELECT DISTINCT unnest(n.mentioned || n.topic_mentioned || n.alerted) AS id) AS named
    ), events AS (
      INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids, public_channel_id, created_at)
      SELECT n.realm_id, n.event_id, 'message',
             n.payload || jsonb_build_object('id', n.message_id, 'recipientId', n.recipient_id),
             CASE WHEN n.channel_id IS NULL THEN '{}' ELSE ARRAY[n.channel_id] END,
             COALESCE(n.member_ids, ARRAY[n.sender_id]), '{}', n.public_channel_id, n.sent_at
      FROM numbered n
    ), keys AS (
      INSERT INTO idempotency_record (realm_id, user_id, key, input_hash, result, reply_bytes)
      SELECT n.realm_id, n.key_user_id, n.key, decode(n.kept->>'input_hash', 'hex'), to_jsonb(n.reply), octet_length(n.reply)
      FROM (
        SELECT n.*, replace(replace(n.kept->>'reply', n.kept->>'id_mark', n.message_id::text),
                            n.kept->>'position_mark', n.event_id::text) AS reply
        FROM numbered n WHERE n.kept IS NOT NULL) AS n
      ON CONFLICT DO NOTHING
      RETURNING realm_id, user_id, key, result #>> '{}' AS reply
    )
    SELECT n.realm_id, n.place, n.message_id, n.event_id, n.recipient_id, n.kept IS NOT NULL AS is_kept, k.reply
    FROM numbered n LEFT JOIN keys k ON k.realm_id = n.realm_id AND k.user_id = n.key_user_id AND k.key = n.key
  LOOP
    -- Whoever takes the key without the lock, or had let go of it before we looked for it, was quicker.
    IF r.is_kept AND r.reply IS NULL THEN RAISE EXCEPTION 'the key was used' USING ERRCODE = '40001'; END IF;
    realm_id := r.realm_id;
    place := r.place;
    message_id := r.message_id;
    event_id := r.event_id;
    recipient_id := r.recipient_id;
    reply := r.reply;
    xid := pg_current_xact_id()::text;
    RETURN NEXT;
  END LOOP;
END
$$;

CREATE FUNCTION "send_messages"(
  p_realm_id integer,
  -- As "send_messages_one_by_one" takes them.
  p_messages jsonb,
  p_takes_keys_for_new boolean
) RETURNS TABLE (
  place integer, message_id bigint, event_id bigint, recipient_id bigint, policy_event_id bigint, reply text, xid text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  -- Of fewer, one by one takes less: 0.37 ms for one, not 0.54; for four both take 0.82, for 32 3.9 and 2.4.
  IF jsonb_array_length(p_messages) > 3 THEN
    PERFORM FROM event_counter c WHERE c.realm_id = p_realm_id FOR NO KEY UPDATE;
    RETURN QUERY
      SELECT s.place, s.message_id, s.event_id, s.recipient_id, s.policy_event_id, s.reply, s.xid
      FROM send_plain_messages(
        jsonb_build_array(jsonb_build_object('realm_id', p_realm_id, 'messages', p_messages)), ARRAY[p_realm_id]) AS s;
    IF FOUND THEN RETURN; END IF;
  END IF;
  RETURN QUERY SELECT s.* FROM send_messages_one_by_one(p_realm_id, p_messages, p_takes_keys_for_new) AS s;
END
$$;

CREATE OR REPLACE FUNCTION "send_messages_of_many"(
  -- For each organisation {realm_id, messages}: what "send_messages" takes.
  p_organizations jsonb
) RETURNS TABLE (
  -- Of each organisation that was not left out, the rows of "send_messages".
  realm_id integer, place integer, message_id bigint, event_id bigint, recipient_id bigint, policy_event_id bigint,
  reply text, xid text
)
LANGUAGE plpgsql
-- Nobody waits for long for what somebody else's message waits for.
SET lock_timeout = '10ms'
AS $$
#variable_conflict use_column
DECLARE
  v_free integer[] := '{}';
  v_sent integer[] := '{}';
  r record;
BEGIN
  BEGIN
    v_free := ARRAY(
      SELECT c.realm_id FROM event_counter c
      WHERE c.realm_id = ANY (ARRAY(SELECT (o->>'realm_id')::integer FROM jsonb_array_elements(p_organizations) AS o))
      FOR NO KEY UPDATE SKIP LOCKED);
    -- All are sent before the first row comes.
    FOR r IN SELECT s.* FROM send_plain_messages(p_organizations, v_free) AS s LOOP
      realm_id := r.realm_id;
      place := r.place;
      message_id := r.message_id;
      event_id := r.event_id;
      recipient_id := r.recipient_id;
      reply := r.reply;
      xid := r.xid;
      RETURN NEXT;
      IF r.place = 1 THEN v_sent := v_sent || r.realm_id; END IF;
    END LOOP;
  EXCEPTION WHEN OTHERS THEN
    -- Something of one of them cannot be stored, or waits for somebody: each goes by itself.
    NULL;
  END;

  FOR r IN
    SELECT o.realm_id, o.messages FROM jsonb_to_recordset(p_organizations) AS o(realm_id integer, messages jsonb)
    WHERE o.realm_id = ANY (v_free) AND o.realm_id <> ALL (v_sent)
  LOOP
    BEGIN
      PERFORM FROM event_counter c WHERE c.realm_id = r.realm_id FOR NO KEY UPDATE SKIP LOCKED;
      IF FOUND THEN
        RETURN QUERY
          SELECT r.realm_id, s.place, s.message_id, s.event_id, s.recipient_id, s.policy_event_id, s.reply, s.xid
          FROM send_messages_one_by_one(r.realm_id, r.messages, true) AS s;
      END IF;
    EXCEPTION WHEN OTHERS THEN
      -- They are sent by themselves, and told what it is then.
      NULL;
    END;
  END LOOP;
END
$$;
