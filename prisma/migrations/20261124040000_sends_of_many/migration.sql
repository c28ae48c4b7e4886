-- The messages of several organisations in one transaction, each as if it were alone: who is being changed by somebody else,
-- or has a message that cannot be written as it is, is left out, and nothing of theirs is written.
CREATE FUNCTION "send_messages_of_many"(
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
          FROM send_messages(o.realm_id, o.messages) AS s;
        RETURN QUERY
          SELECT o.realm_id, 0, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::text;
      END IF;
    EXCEPTION WHEN OTHERS THEN
      -- They are sent by themselves, and told what it is then.
      NULL;
    END;
  END LOOP;
END
$$;
