-- First what "already exists" once this has run: by that a migration that was broken off is known to have run.
-- AlterTable
ALTER TABLE "subscription_period" ADD COLUMN     "began_message_id" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "ended_message_id" BIGINT;

-- AlterTable
ALTER TABLE "channel" DROP COLUMN "first_message_id";

-- AlterTable
ALTER TABLE "user_account" ADD COLUMN     "is_system" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "realm" ADD COLUMN     "has_alert_words" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "conversation" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "member_ids" INTEGER[],

    CONSTRAINT "conversation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "conversation_member" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "conversation_id" INTEGER NOT NULL,

    CONSTRAINT "conversation_member_pkey" PRIMARY KEY ("user_id","conversation_id")
);

-- CreateTable
CREATE TABLE "message" (
    "realm_id" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "sender_id" INTEGER NOT NULL,
    "channel_id" INTEGER,
    "sent_channel_id" INTEGER,
    "conversation_id" INTEGER,
    "topic" TEXT NOT NULL DEFAULT '',
    "content" TEXT NOT NULL,
    "rendered_content" TEXT NOT NULL,
    "client_name" TEXT NOT NULL,
    "sent_at" TIMESTAMPTZ(6) NOT NULL,
    "sent_event_id" BIGINT NOT NULL,
    "read_by_sender" BOOLEAN NOT NULL DEFAULT false,
    "channel_wildcard" BOOLEAN NOT NULL DEFAULT false,
    "has_link" BOOLEAN NOT NULL DEFAULT false,
    "has_image" BOOLEAN NOT NULL DEFAULT false,
    "has_attachment" BOOLEAN NOT NULL DEFAULT false,
    "last_edited_at" TIMESTAMPTZ(6),
    "last_moved_at" TIMESTAMPTZ(6),
    "send_token" BIGINT NOT NULL,

    CONSTRAINT "message_pkey" PRIMARY KEY ("realm_id","id")
);

-- CreateTable
CREATE TABLE "user_message" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "starred" BOOLEAN NOT NULL DEFAULT false,
    "collapsed" BOOLEAN NOT NULL DEFAULT false,
    "mentioned" BOOLEAN NOT NULL DEFAULT false,
    "topic_wildcard_mentioned" BOOLEAN NOT NULL DEFAULT false,
    "has_alert_word" BOOLEAN NOT NULL DEFAULT false,
    "historical" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "user_message_pkey" PRIMARY KEY ("user_id","message_id")
);

-- CreateTable
CREATE TABLE "read_mark" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "recipient_id" BIGINT NOT NULL,
    "read_through" BIGINT NOT NULL,

    CONSTRAINT "read_mark_pkey" PRIMARY KEY ("user_id","recipient_id")
);

-- CreateTable
CREATE TABLE "read_exception" (
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "recipient_id" BIGINT NOT NULL,
    "is_read" BOOLEAN NOT NULL,

    CONSTRAINT "read_exception_pkey" PRIMARY KEY ("user_id","message_id")
);

-- CreateTable
CREATE TABLE "message_edit" (
    "id" BIGSERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "editor_id" INTEGER NOT NULL,
    "edited_at" TIMESTAMPTZ(6) NOT NULL,
    "prev_content" TEXT,
    "prev_rendered_content" TEXT,
    "prev_topic" TEXT,
    "prev_channel_id" INTEGER,

    CONSTRAINT "message_edit_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "reaction" (
    "id" BIGSERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "message_id" BIGINT NOT NULL,
    "user_id" INTEGER NOT NULL,
    "emoji_name" TEXT NOT NULL,
    "emoji_code" TEXT NOT NULL,
    "reaction_type" TEXT NOT NULL,

    CONSTRAINT "reaction_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deleted_message" (
    "realm_id" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "deleter_id" INTEGER,
    "deleted_at" TIMESTAMPTZ(6) NOT NULL,
    "body" JSONB NOT NULL,

    CONSTRAINT "deleted_message_pkey" PRIMARY KEY ("realm_id","id")
);

-- CreateTable
CREATE TABLE "user_topic" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "channel_id" INTEGER NOT NULL,
    "topic" TEXT NOT NULL,
    "policy" SMALLINT NOT NULL,
    "last_updated" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "user_topic_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "scheduled_message" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "owner_id" INTEGER NOT NULL,
    "kind" TEXT NOT NULL DEFAULT 'message',
    "channel_id" INTEGER,
    "recipient_ids" INTEGER[],
    "topic" TEXT NOT NULL DEFAULT '',
    "content" TEXT NOT NULL,
    "rendered_content" TEXT NOT NULL,
    "scheduled_at" TIMESTAMPTZ(6) NOT NULL,
    "read_by_sender" BOOLEAN NOT NULL DEFAULT false,
    "client_name" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'scheduled',
    "failure_message" TEXT,
    "delivered_message_id" BIGINT,
    "reminder_target_id" BIGINT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scheduled_message_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "alert_word" (
    "id" SERIAL NOT NULL,
    "realm_id" INTEGER NOT NULL,
    "user_id" INTEGER NOT NULL,
    "word" TEXT NOT NULL,
    "head" TEXT NOT NULL,

    CONSTRAINT "alert_word_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "conversation_realm_id_id_key" ON "conversation"("realm_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "conversation_realm_id_member_ids_key" ON "conversation"("realm_id", "member_ids");

-- CreateIndex
CREATE INDEX "message_by_sender" ON "message"("sender_id", "id");

-- CreateIndex
CREATE INDEX "user_message_realm_id_message_id_idx" ON "user_message"("realm_id", "message_id");

-- CreateIndex
CREATE INDEX "read_exception_user_id_recipient_id_message_id_idx" ON "read_exception"("user_id", "recipient_id", "message_id");

-- CreateIndex
CREATE INDEX "read_exception_realm_id_message_id_idx" ON "read_exception"("realm_id", "message_id");

-- CreateIndex
CREATE INDEX "message_edit_realm_id_message_id_id_idx" ON "message_edit"("realm_id", "message_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "reaction_realm_id_message_id_user_id_reaction_type_emoji_co_key" ON "reaction"("realm_id", "message_id", "user_id", "reaction_type", "emoji_code");

-- CreateIndex
CREATE INDEX "deleted_message_deleted_at_idx" ON "deleted_message"("deleted_at");

-- CreateIndex
CREATE INDEX "scheduled_message_owner_id_scheduled_at_id_idx" ON "scheduled_message"("owner_id", "scheduled_at", "id");

-- CreateIndex
CREATE INDEX "alert_word_realm_id_head_idx" ON "alert_word"("realm_id", "head");

-- AddForeignKey
ALTER TABLE "conversation_member" ADD CONSTRAINT "conversation_member_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "conversation_member" ADD CONSTRAINT "conversation_member_realm_id_conversation_id_fkey" FOREIGN KEY ("realm_id", "conversation_id") REFERENCES "conversation"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_realm_id_sender_id_fkey" FOREIGN KEY ("realm_id", "sender_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_realm_id_channel_id_fkey" FOREIGN KEY ("realm_id", "channel_id") REFERENCES "channel"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_realm_id_conversation_id_fkey" FOREIGN KEY ("realm_id", "conversation_id") REFERENCES "conversation"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "user_message" ADD CONSTRAINT "user_message_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_message" ADD CONSTRAINT "user_message_realm_id_message_id_fkey" FOREIGN KEY ("realm_id", "message_id") REFERENCES "message"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "read_mark" ADD CONSTRAINT "read_mark_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "read_exception" ADD CONSTRAINT "read_exception_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "read_exception" ADD CONSTRAINT "read_exception_realm_id_message_id_fkey" FOREIGN KEY ("realm_id", "message_id") REFERENCES "message"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message_edit" ADD CONSTRAINT "message_edit_realm_id_editor_id_fkey" FOREIGN KEY ("realm_id", "editor_id") REFERENCES "user_account"("realm_id", "id") ON DELETE NO ACTION ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "message_edit" ADD CONSTRAINT "message_edit_realm_id_message_id_fkey" FOREIGN KEY ("realm_id", "message_id") REFERENCES "message"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reaction" ADD CONSTRAINT "reaction_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reaction" ADD CONSTRAINT "reaction_realm_id_message_id_fkey" FOREIGN KEY ("realm_id", "message_id") REFERENCES "message"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_topic" ADD CONSTRAINT "user_topic_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_topic" ADD CONSTRAINT "user_topic_realm_id_channel_id_fkey" FOREIGN KEY ("realm_id", "channel_id") REFERENCES "channel"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "scheduled_message" ADD CONSTRAINT "scheduled_message_realm_id_owner_id_fkey" FOREIGN KEY ("realm_id", "owner_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "alert_word" ADD CONSTRAINT "alert_word_realm_id_user_id_fkey" FOREIGN KEY ("realm_id", "user_id") REFERENCES "user_account"("realm_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the schema language cannot say.

CREATE SEQUENCE "message_id_seq" AS bigint OWNED BY "message"."id";

UPDATE "subscription_period" SET "ended_message_id" = 0 WHERE "ended_event_id" IS NOT NULL;
ALTER TABLE "subscription_period"
  ADD CONSTRAINT "subscription_period_ends_whole" CHECK (("ended_event_id" IS NULL) = ("ended_message_id" IS NULL));

INSERT INTO "user_account" ("realm_id", "email", "full_name", "bot_type", "is_system")
  SELECT "id", 'notification-bot@system.invalid', 'Notification Bot', 1, true FROM "realm";
CREATE UNIQUE INDEX "user_account_system_key" ON "user_account" ("realm_id") WHERE "is_system";

ALTER TABLE "conversation"
  ADD CONSTRAINT "conversation_members" CHECK (cardinality("member_ids") BETWEEN 1 AND 500);

ALTER TABLE "message"
  ADD CONSTRAINT "message_somewhere" CHECK (("channel_id" IS NULL) <> ("conversation_id" IS NULL)),
  ADD CONSTRAINT "message_sent_somewhere" CHECK (("channel_id" IS NULL) = ("sent_channel_id" IS NULL)),
  ADD CONSTRAINT "message_topic" CHECK (char_length("topic") <= 60 AND ("channel_id" IS NOT NULL OR "topic" = '')),
  ADD CONSTRAINT "message_content" CHECK ("content" <> '' AND char_length("content") <= 10000);
CREATE INDEX "message_by_channel" ON "message" ("channel_id", "id") WHERE "channel_id" IS NOT NULL;
-- Topics are read from this one, a step for each, and the history of one topic.
CREATE INDEX "message_by_topic" ON "message" ("channel_id", lower("topic"), "id") WHERE "channel_id" IS NOT NULL;
CREATE INDEX "message_by_conversation" ON "message" ("conversation_id", "id") WHERE "conversation_id" IS NOT NULL;
-- What was moved away: its readers are found by where it was sent.
CREATE INDEX "message_moved" ON "message" ("sent_channel_id", "id") WHERE "channel_id" <> "sent_channel_id";
-- What mentions everybody, and what is resolved, is little of what there is.
CREATE INDEX "message_wildcard" ON "message" ("channel_id", "id") WHERE "channel_wildcard" AND "channel_id" IS NOT NULL;
CREATE INDEX "message_direct_wildcard" ON "message" ("conversation_id", "id")
  WHERE "channel_wildcard" AND "conversation_id" IS NOT NULL;
CREATE INDEX "message_resolved" ON "message" ("channel_id", "id")
  WHERE "channel_id" IS NOT NULL AND starts_with("topic", '✔ ');
CREATE INDEX "message_search" ON "message" USING gin (to_tsvector('english', "topic" || ' ' || "content"));

CREATE INDEX "user_message_starred" ON "user_message" ("user_id", "message_id") WHERE "starred";
CREATE INDEX "user_message_mentioned" ON "user_message" ("user_id", "message_id")
  WHERE "mentioned" OR "topic_wildcard_mentioned";
CREATE INDEX "user_message_alerted" ON "user_message" ("user_id", "message_id") WHERE "has_alert_word";

ALTER TABLE "message_edit"
  ADD CONSTRAINT "message_edit_something"
    CHECK ("prev_content" IS NOT NULL OR "prev_topic" IS NOT NULL OR "prev_channel_id" IS NOT NULL),
  ADD CONSTRAINT "message_edit_content" CHECK (("prev_content" IS NULL) = ("prev_rendered_content" IS NULL));

ALTER TABLE "reaction"
  ADD CONSTRAINT "reaction_type_known" CHECK ("reaction_type" IN ('unicode_emoji', 'realm_emoji', 'service_extra_emoji'));

ALTER TABLE "user_topic"
  ADD CONSTRAINT "user_topic_policy_known" CHECK ("policy" BETWEEN 1 AND 3),
  ADD CONSTRAINT "user_topic_length" CHECK (char_length("topic") <= 60);
CREATE UNIQUE INDEX "user_topic_key" ON "user_topic" ("user_id", "channel_id", lower("topic"));
CREATE INDEX "user_topic_by_channel" ON "user_topic" ("channel_id", lower("topic"));

ALTER TABLE "alert_word"
  ADD CONSTRAINT "alert_word_length" CHECK (char_length("word") BETWEEN 1 AND 100);
CREATE UNIQUE INDEX "alert_word_key" ON "alert_word" ("user_id", lower("word"));

-- Delivered implies a message; failed implies a reason.
ALTER TABLE "scheduled_message"
  ADD CONSTRAINT "scheduled_message_state_known" CHECK ("state" IN ('scheduled', 'delivered', 'failed')),
  ADD CONSTRAINT "scheduled_message_delivered" CHECK (("state" = 'delivered') = ("delivered_message_id" IS NOT NULL)),
  ADD CONSTRAINT "scheduled_message_failed" CHECK (("state" = 'failed') = ("failure_message" IS NOT NULL)),
  ADD CONSTRAINT "scheduled_message_kind" CHECK (
    CASE "kind"
      WHEN 'message' THEN "reminder_target_id" IS NULL AND ("channel_id" IS NULL) <> (cardinality("recipient_ids") = 0)
      WHEN 'reminder' THEN "reminder_target_id" IS NOT NULL AND "channel_id" IS NULL
      ELSE false END);
CREATE INDEX "scheduled_message_due" ON "scheduled_message" ("scheduled_at", "id") WHERE "state" = 'scheduled';

-- Sends a message: the event and the message, each once, and rows for the users it names. Everything else about who
-- received it follows from where and when it was sent, so that the cost does not grow with the channel.
--
-- The counter comes first: from then on this sees every change with a lower event id, and none with a higher one can
-- come before it. What the right to send was read from is then compared; whoever calls reads again after a 40001.
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
        WHERE s.user_id = p_subscriber_id AND s.channel_id = p_channel_id AND s.active
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
