-- Version 2

-- Prevents new events of an organization until the transaction ends. Returns whether the log has events after `p_seen` of other
-- types than those in `p_harmless`. Two statements, because the second must see what was committed while the first waited.
CREATE OR REPLACE FUNCTION "hold_log"(p_realm_id INTEGER, p_seen BIGINT, p_harmless TEXT[]) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  v_last_id BIGINT;
BEGIN
  SELECT last_id INTO STRICT v_last_id FROM event_counter WHERE realm_id = p_realm_id FOR NO KEY UPDATE;
  PERFORM refuse_late_lock();
  RETURN v_last_id <> p_seen AND EXISTS (
    SELECT FROM event WHERE realm_id = p_realm_id AND id > p_seen AND type <> ALL (p_harmless));
END
$$;

-- Fails with lock_not_available if the statement has run for longer than `lock_timeout`. Statements that lock an event counter
-- call it when they have the lock. PostgreSQL measures `lock_timeout` anew for each of the two locks that a statement waits for
-- when others wait for the same row. A statement of a dead node could otherwise get the row when PostgreSQL ends the transaction
-- before it, and hold it for another `idle_in_transaction_session_timeout`.
CREATE OR REPLACE FUNCTION "refuse_late_lock"() RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  v_limit INTERVAL := current_setting('lock_timeout');
BEGIN
  IF v_limit > interval '0' AND clock_timestamp() - statement_timestamp() > v_limit THEN
    RAISE lock_not_available USING MESSAGE = 'canceling statement because it got its lock after lock_timeout';
  END IF;
  RETURN true;
END
$$;

-- Returns the cluster that the database is in, and its timeline. Null if the role may not read them, if the server does not
-- support them, or on a standby.
CREATE OR REPLACE FUNCTION "log_place"(OUT "cluster" text, OUT "timeline" text) LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    SELECT c.system_identifier::text INTO cluster FROM pg_control_system() AS c;
  EXCEPTION
    WHEN insufficient_privilege OR undefined_function OR feature_not_supported OR system_error OR internal_error THEN
      cluster := NULL;
  END;
  BEGIN
    -- The name of a file of the write-ahead log is three numbers of eight digits. The first one is the timeline.
    timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  EXCEPTION
    WHEN insufficient_privilege OR undefined_function OR feature_not_supported OR object_not_in_prerequisite_state
      OR internal_error THEN
      timeline := NULL;
  END;
END
$$;
