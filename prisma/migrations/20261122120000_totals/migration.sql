-- AlterTable
ALTER TABLE "idempotency_record" ADD COLUMN     "reply_bytes" INTEGER NOT NULL DEFAULT 0;

-- What the schema language cannot say.

-- How much is kept for a user is asked before more is: read from the index alone, without what is hardly anything.
CREATE INDEX "idempotency_record_large" ON "idempotency_record" ("user_id") INCLUDE ("reply_bytes") WHERE "reply_bytes" > 1024;

-- What waits is counted and listed by owner, past all that was ever delivered.
CREATE INDEX "scheduled_message_waiting" ON "scheduled_message" ("owner_id", "scheduled_at", "id") WHERE "state" <> 'delivered';

ALTER TABLE "event_queue" DROP CONSTRAINT "event_queue_end", ADD CONSTRAINT "event_queue_end" CHECK (
  ("ended_at" IS NULL) = ("end_reason" IS NULL) AND "end_reason" IN ('deleted', 'expired', 'revoked', 'surplus'));

-- Makes a queue. Where that is one more than a user may have, the least recently used ends: of two nodes that make one at
-- once the second sees what the first has made. Forgets what ended before `p_max_ended` others did. Gives what it ends.
--
-- The lock is one for this alone: the user's row is held by any change of theirs, which may wait for the organisation.
--
-- p_read: queues that are being read on the node that asks. p_fresh: since when a queue that a node holds may still be
-- being read there.
CREATE FUNCTION "make_event_queue"(
  p_id UUID, p_realm_id INTEGER, p_user_id INTEGER, p_options JSONB, p_idle_timeout_secs INTEGER, p_client_name TEXT,
  p_start_id BIGINT, p_now TIMESTAMPTZ, p_expires_at TIMESTAMPTZ, p_read UUID[], p_fresh TIMESTAMPTZ,
  p_max_live INTEGER, p_max_ended INTEGER
) RETURNS TABLE (ended_id UUID) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7340169, p_user_id);

  DELETE FROM event_queue q USING (
    SELECT e.id, row_number() OVER (ORDER BY e.ended_at DESC, e.id) AS place
    FROM event_queue e WHERE e.user_id = p_user_id AND e.ended_at IS NOT NULL) AS gone
  WHERE q.id = gone.id AND gone.place >= p_max_ended;

  RETURN QUERY
    UPDATE event_queue q SET ended_at = p_now, end_reason = 'surplus', options = '{}'
    FROM (
      SELECT e.id, row_number() OVER (
        ORDER BY CASE WHEN e.id = ANY (p_read) THEN 3
                      WHEN e.expires_at <= p_now THEN 0
                      WHEN e.holder IS NOT NULL AND e.last_active_at > p_fresh THEN 2
                      ELSE 1 END DESC, e.last_active_at DESC, e.id) AS place
      FROM event_queue e WHERE e.user_id = p_user_id AND e.ended_at IS NULL) AS live
    WHERE q.id = live.id AND live.place >= p_max_live
    RETURNING q.id;

  INSERT INTO event_queue (id, realm_id, user_id, options, idle_timeout_secs, client_name, start_id, acked_id,
                           scanned_through, created_at, last_active_at, expires_at)
  VALUES (p_id, p_realm_id, p_user_id, p_options, p_idle_timeout_secs, p_client_name, p_start_id, p_start_id,
          p_start_id, p_now, p_now, p_expires_at);
END
$$;
