-- Version 1

-- Creates a queue. If the user then has more than `p_max_live`, ends the least recently used ones and returns their ids.
-- Deletes ended queues, except for the `p_max_ended` - 1 that ended last.
--
-- The advisory lock makes the second of two concurrent calls see the queue of the first one. It is not the lock of the user's
-- row, because every change of the user holds that one and may wait for the organization.
--
-- p_read: queues that clients read on the calling node. p_fresh: a queue that another node holds and that was active after this
-- time may still be read there.
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
