-- Keys begin with the organisation, so that its rows can be kept apart from those of others: see src/platform/db/README.md.
--
-- No table is written anew, and what is unique by organisation and number already becomes the key as it is.

-- CreateIndex
CREATE UNIQUE INDEX "navigation_view_realm_id_user_id_fragment_key" ON "navigation_view"("realm_id", "user_id", "fragment");

-- DropIndex
DROP INDEX "navigation_view_user_id_fragment_key";

-- AlterTable
ALTER TABLE "channel" DROP CONSTRAINT "channel_pkey",
ADD CONSTRAINT "channel_pkey" PRIMARY KEY USING INDEX "channel_realm_id_id_key";
ALTER TABLE "channel_folder" DROP CONSTRAINT "channel_folder_pkey",
ADD CONSTRAINT "channel_folder_pkey" PRIMARY KEY USING INDEX "channel_folder_realm_id_id_key";
ALTER TABLE "conversation" DROP CONSTRAINT "conversation_pkey",
ADD CONSTRAINT "conversation_pkey" PRIMARY KEY USING INDEX "conversation_realm_id_id_key";
ALTER TABLE "image" DROP CONSTRAINT "image_pkey",
ADD CONSTRAINT "image_pkey" PRIMARY KEY USING INDEX "image_realm_id_id_key";
ALTER TABLE "profile_field" DROP CONSTRAINT "profile_field_pkey",
ADD CONSTRAINT "profile_field_pkey" PRIMARY KEY USING INDEX "profile_field_realm_id_id_key";
ALTER TABLE "user_account" DROP CONSTRAINT "user_account_pkey",
ADD CONSTRAINT "user_account_pkey" PRIMARY KEY USING INDEX "user_account_realm_id_id_key";
ALTER TABLE "user_group" DROP CONSTRAINT "user_group_pkey",
ADD CONSTRAINT "user_group_pkey" PRIMARY KEY USING INDEX "user_group_realm_id_id_key";
ALTER TABLE "api_key" DROP CONSTRAINT "api_key_pkey",
ADD CONSTRAINT "api_key_pkey" PRIMARY KEY USING INDEX "api_key_realm_id_user_id_key";
ALTER TABLE "call_token" DROP CONSTRAINT "call_token_pkey",
ADD CONSTRAINT "call_token_pkey" PRIMARY KEY USING INDEX "call_token_realm_id_user_id_key";
ALTER TABLE "presence" DROP CONSTRAINT "presence_pkey",
ADD CONSTRAINT "presence_pkey" PRIMARY KEY USING INDEX "presence_realm_id_user_id_key";
ALTER TABLE "user_status" DROP CONSTRAINT "user_status_pkey",
ADD CONSTRAINT "user_status_pkey" PRIMARY KEY USING INDEX "user_status_realm_id_user_id_key";

-- AlterTable
ALTER TABLE "alert_word" DROP CONSTRAINT "alert_word_pkey",
ADD CONSTRAINT "alert_word_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "custom_emoji" DROP CONSTRAINT "custom_emoji_pkey",
ADD CONSTRAINT "custom_emoji_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "draft" DROP CONSTRAINT "draft_pkey",
ADD CONSTRAINT "draft_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "email_change" DROP CONSTRAINT "email_change_pkey",
ADD CONSTRAINT "email_change_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "event_queue" DROP CONSTRAINT "event_queue_pkey",
ADD CONSTRAINT "event_queue_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "message_edit" DROP CONSTRAINT "message_edit_pkey",
ADD CONSTRAINT "message_edit_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "navigation_view" DROP CONSTRAINT "navigation_view_pkey",
ADD CONSTRAINT "navigation_view_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "outgoing_mail" DROP CONSTRAINT "outgoing_mail_pkey",
ADD CONSTRAINT "outgoing_mail_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "reaction" DROP CONSTRAINT "reaction_pkey",
ADD CONSTRAINT "reaction_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "realm_domain" DROP CONSTRAINT "realm_domain_pkey",
ADD CONSTRAINT "realm_domain_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "saved_snippet" DROP CONSTRAINT "saved_snippet_pkey",
ADD CONSTRAINT "saved_snippet_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "scheduled_message" DROP CONSTRAINT "scheduled_message_pkey",
ADD CONSTRAINT "scheduled_message_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "session" DROP CONSTRAINT "session_pkey",
ADD CONSTRAINT "session_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "user_topic" DROP CONSTRAINT "user_topic_pkey",
ADD CONSTRAINT "user_topic_pkey" PRIMARY KEY ("realm_id", "id");
ALTER TABLE "conversation_member" DROP CONSTRAINT "conversation_member_pkey",
ADD CONSTRAINT "conversation_member_pkey" PRIMARY KEY ("realm_id", "user_id", "conversation_id");
ALTER TABLE "idempotency_record" DROP CONSTRAINT "idempotency_record_pkey",
ADD CONSTRAINT "idempotency_record_pkey" PRIMARY KEY ("realm_id", "user_id", "key");
ALTER TABLE "message_count" DROP CONSTRAINT "message_count_pkey",
ADD CONSTRAINT "message_count_pkey" PRIMARY KEY ("realm_id", "recipient_id", "key", "through_id");
ALTER TABLE "profile_value" DROP CONSTRAINT "profile_value_pkey",
ADD CONSTRAINT "profile_value_pkey" PRIMARY KEY ("realm_id", "user_id", "field_id");
ALTER TABLE "read_exception" DROP CONSTRAINT "read_exception_pkey",
ADD CONSTRAINT "read_exception_pkey" PRIMARY KEY ("realm_id", "user_id", "message_id");
ALTER TABLE "read_mark" DROP CONSTRAINT "read_mark_pkey",
ADD CONSTRAINT "read_mark_pkey" PRIMARY KEY ("realm_id", "user_id", "recipient_id");
ALTER TABLE "role_change" DROP CONSTRAINT "role_change_pkey",
ADD CONSTRAINT "role_change_pkey" PRIMARY KEY ("realm_id", "user_id", "event_id");
ALTER TABLE "subscription" DROP CONSTRAINT "subscription_pkey",
ADD CONSTRAINT "subscription_pkey" PRIMARY KEY ("realm_id", "user_id", "channel_id");
ALTER TABLE "subscription_period" DROP CONSTRAINT "subscription_period_pkey",
ADD CONSTRAINT "subscription_period_pkey" PRIMARY KEY ("realm_id", "user_id", "channel_id", "began_event_id");
ALTER TABLE "user_group_member" DROP CONSTRAINT "user_group_member_pkey",
ADD CONSTRAINT "user_group_member_pkey" PRIMARY KEY ("realm_id", "group_id", "user_id");
ALTER TABLE "user_group_subgroup" DROP CONSTRAINT "user_group_subgroup_pkey",
ADD CONSTRAINT "user_group_subgroup_pkey" PRIMARY KEY ("realm_id", "group_id", "subgroup_id");
ALTER TABLE "user_message" DROP CONSTRAINT "user_message_pkey",
ADD CONSTRAINT "user_message_pkey" PRIMARY KEY ("realm_id", "user_id", "message_id");

-- What the schema language cannot say.

DROP INDEX "alert_word_key";
CREATE UNIQUE INDEX "alert_word_key" ON "alert_word" ("realm_id", "user_id", lower("word"));
DROP INDEX "navigation_view_name_key";
CREATE UNIQUE INDEX "navigation_view_name_key" ON "navigation_view" ("realm_id", "user_id", "name") WHERE "name" IS NOT NULL;
DROP INDEX "subscription_period_open_key";
CREATE UNIQUE INDEX "subscription_period_open_key" ON "subscription_period" ("realm_id", "user_id", "channel_id")
  WHERE "ended_event_id" IS NULL;
DROP INDEX "user_topic_key";
CREATE UNIQUE INDEX "user_topic_key" ON "user_topic" ("realm_id", "user_id", "channel_id", lower("topic"));

-- The functions look their rows up by the new keys, and are otherwise as they were.

CREATE OR REPLACE FUNCTION "send_message"(
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
  p_repeated boolean
) RETURNS TABLE (message_id bigint, event_id bigint, recipient_id bigint, xid text)
LANGUAGE plpgsql AS $$
DECLARE
  v_sender_id integer := (p_payload->'sender'->>'id')::integer;
  v_event_id bigint;
  v_message_id bigint;
  v_conversation_id integer;
  v_recipient_id bigint;
  v_payload jsonb;
BEGIN
  UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = p_realm_id RETURNING last_id INTO STRICT v_event_id;

  IF p_repeated THEN
    -- An attempt is seconds old: nobody sends so many meanwhile, and some have sent millions.
    RETURN QUERY
      SELECT m.id, m.sent_event_id, COALESCE(m.sent_channel_id::bigint * 2, m.conversation_id::bigint * 2 + 1),
             pg_current_xact_id()::text
      FROM (SELECT * FROM message s WHERE s.sender_id = v_sender_id ORDER BY s.id DESC LIMIT 20000) m
      WHERE m.send_token = p_send_token;
    IF FOUND THEN RETURN; END IF;
  END IF;

  PERFORM FROM user_account u
    WHERE u.id = v_sender_id AND u.realm_id = p_realm_id AND u.is_active AND u.role = p_sender_role;
  IF NOT FOUND THEN RAISE EXCEPTION 'the sender has changed' USING ERRCODE = '40001'; END IF;

  IF p_channel_id IS NOT NULL THEN
    PERFORM FROM channel c
      WHERE c.id = p_channel_id AND c.realm_id = p_realm_id AND NOT c.is_archived AND c.xmin::text = p_channel_version;
    IF NOT FOUND THEN RAISE EXCEPTION 'the channel has changed' USING ERRCODE = '40001'; END IF;
    IF p_subscription_version IS NOT NULL THEN
      PERFORM FROM subscription s
        WHERE s.realm_id = p_realm_id AND s.user_id = p_subscriber_id AND s.channel_id = p_channel_id AND s.active
          AND s.xmin::text = p_subscription_version;
      IF NOT FOUND THEN RAISE EXCEPTION 'the subscription has changed' USING ERRCODE = '40001'; END IF;
    END IF;
    v_recipient_id := p_channel_id::bigint * 2;
  ELSE
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
    v_recipient_id := v_conversation_id::bigint * 2 + 1;
  END IF;

  v_message_id := nextval('message_id_seq');
  v_payload := p_payload || jsonb_build_object('id', v_message_id, 'recipientId', v_recipient_id);

  INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, conversation_id, topic, content,
                       rendered_content, client_name, sent_at, sent_event_id, read_by_sender, channel_wildcard, has_link,
                       has_image, has_attachment, send_token)
  VALUES (p_realm_id, v_message_id, v_sender_id, p_channel_id, p_channel_id, v_conversation_id, p_payload->>'topic',
          p_payload->>'content', p_payload->>'renderedContent', p_payload->>'client', p_sent_at, v_event_id, p_read_by_sender,
          p_channel_wildcard, p_has_link, p_has_image, p_has_attachment, p_send_token);

  IF cardinality(p_mentioned) + cardinality(p_topic_mentioned) + cardinality(p_alerted) > 0 THEN
    INSERT INTO user_message (realm_id, user_id, message_id, mentioned, topic_wildcard_mentioned, has_alert_word)
    SELECT p_realm_id, named.id, v_message_id, named.id = ANY(p_mentioned), named.id = ANY(p_topic_mentioned),
           named.id = ANY(p_alerted)
    FROM (SELECT DISTINCT unnest(p_mentioned || p_topic_mentioned || p_alerted) AS id) AS named;
  END IF;

  INSERT INTO event (realm_id, id, type, payload, channel_ids, user_ids, except_user_ids, public_channel_id, created_at)
  VALUES (p_realm_id, v_event_id, 'message', v_payload,
          CASE WHEN p_channel_id IS NULL THEN '{}' ELSE ARRAY[p_channel_id] END,
          COALESCE(p_member_ids, ARRAY[v_sender_id]), '{}', p_public_channel_id, p_sent_at);

  RETURN QUERY SELECT v_message_id, v_event_id, v_recipient_id, pg_current_xact_id()::text;
END
$$;

CREATE OR REPLACE FUNCTION "send_messages"(
  p_realm_id integer,
  -- The arguments of each for "send_message", by the same names without "p_"; and, where there are such, "policy", which
  -- takes the place of none, with the event that tells of it, and "kept": the key, a number to lock it by, the hash of the
  -- input in hex, and the reply as JSON, in which two numbers stand for the message's id and for that of the last event.
  p_messages jsonb
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
  IF jsonb_path_exists(p_messages, '$[*].kept') THEN
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
    SELECT * INTO STRICT sent FROM send_message(
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
      -- Only a node of before, which locks no keys, can have been quicker.
      IF NOT FOUND THEN RAISE EXCEPTION 'the key was used' USING ERRCODE = '40001'; END IF;
    END IF;

    RETURN QUERY SELECT m.place::integer, sent.message_id, sent.event_id, sent.recipient_id, v_policy_event_id, v_reply,
                        sent.xid;
  END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION "make_event_queue"(
  p_id UUID, p_realm_id INTEGER, p_user_id INTEGER, p_options JSONB, p_idle_timeout_secs INTEGER, p_client_name TEXT,
  p_start_id BIGINT, p_now TIMESTAMPTZ, p_expires_at TIMESTAMPTZ, p_read UUID[], p_fresh TIMESTAMPTZ,
  p_max_live INTEGER, p_max_ended INTEGER
) RETURNS TABLE (ended_id UUID) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7340169, p_user_id);

  DELETE FROM event_queue q USING (
    SELECT e.id, row_number() OVER (ORDER BY e.ended_at DESC, e.id) AS place
    FROM event_queue e WHERE e.realm_id = p_realm_id AND e.user_id = p_user_id AND e.ended_at IS NOT NULL) AS gone
  WHERE q.realm_id = p_realm_id AND q.id = gone.id AND gone.place >= p_max_ended;

  RETURN QUERY
    UPDATE event_queue q SET ended_at = p_now, end_reason = 'surplus', options = '{}'
    FROM (
      SELECT e.id, row_number() OVER (
        ORDER BY CASE WHEN e.id = ANY (p_read) THEN 3
                      WHEN e.expires_at <= p_now THEN 0
                      WHEN e.holder IS NOT NULL AND e.last_active_at > p_fresh THEN 2
                      ELSE 1 END DESC, e.last_active_at DESC, e.id) AS place
      FROM event_queue e WHERE e.realm_id = p_realm_id AND e.user_id = p_user_id AND e.ended_at IS NULL) AS live
    WHERE q.realm_id = p_realm_id AND q.id = live.id AND live.place >= p_max_live
    RETURNING q.id;

  INSERT INTO event_queue (id, realm_id, user_id, options, idle_timeout_secs, client_name, start_id, acked_id,
                           scanned_through, created_at, last_active_at, expires_at)
  VALUES (p_id, p_realm_id, p_user_id, p_options, p_idle_timeout_secs, p_client_name, p_start_id, p_start_id,
          p_start_id, p_now, p_now, p_expires_at);
END
$$;

CREATE OR REPLACE FUNCTION "tally_messages"(p_realm_id integer, p_limit integer) RETURNS boolean LANGUAGE plpgsql AS $$
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
    ON CONFLICT (realm_id, recipient_id, key, through_id) DO UPDATE SET count = c.count + EXCLUDED.count
    RETURNING c.recipient_id, c.key, c.count
  )
  -- A place on the way for every 8 messages, fewer where there are very many: so that what lies between two is soon looked
  -- through, and a message that goes changes a bounded number of them.
  INSERT INTO message_count (realm_id, recipient_id, key, through_id, count)
  SELECT p_realm_id, t.recipient_id, t.key, v_to, t.count FROM total t
  WHERE t.count - COALESCE((
      SELECT c.count FROM message_count c
      WHERE c.realm_id = p_realm_id AND c.recipient_id = t.recipient_id AND c.key = t.key AND c.through_id <= v_from
      ORDER BY c.through_id DESC LIMIT 1), 0) >= GREATEST(8, t.count / 1024);

  UPDATE message_tally t SET through_id = v_to WHERE t.realm_id = p_realm_id;
  RETURN v_found = p_limit;
END
$$;

CREATE OR REPLACE FUNCTION "shift_message_counts"(
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
    WHERE c.realm_id = p_realm_id AND c.recipient_id = p.recipient_id AND c.key = p.key AND c.through_id >= p.ids[1]
    RETURNING c.recipient_id, c.key
  )
  INSERT INTO message_count AS c (realm_id, recipient_id, key, through_id, count)
  SELECT p_realm_id, p.recipient_id, p.key, 9223372036854775807, p_sign * cardinality(p.ids) FROM placed p
  WHERE NOT EXISTS (SELECT FROM shifted s WHERE s.recipient_id = p.recipient_id AND s.key = p.key)
  ON CONFLICT (realm_id, recipient_id, key, through_id) DO UPDATE SET count = c.count + EXCLUDED.count
$$;
