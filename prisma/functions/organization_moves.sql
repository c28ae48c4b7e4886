-- Version 1

-- Guards the rows of an organization that moves to another database. `org move` creates the triggers and drops them again. They
-- do not run for changes that are replicated.
--
-- During the copy, a change holds a shared lock until its transaction ends. The hold of writes is the exclusive lock: it waits
-- for changes in progress, and later changes are refused.
CREATE OR REPLACE FUNCTION "guard_moving_realm"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_realm_id integer := TG_ARGV[0]::integer;
  v_is_free boolean := pg_try_advisory_xact_lock_shared(7340175, v_realm_id);
  v_state text;
BEGIN
  -- Read after the lock: the session that marks the organization as moved holds the lock until its commit.
  SELECT m.state INTO v_state FROM realm_move m WHERE m.realm_id = v_realm_id;
  -- Background workers skip rows that are being replicated from the source, and do not clean up rows that have moved. Every other
  -- deletion logs an event, which is refused.
  IF v_state = 'arriving' OR (v_state = 'moved' AND TG_OP = 'DELETE') THEN RETURN NULL; END IF;
  IF v_state = 'moved' OR NOT v_is_free THEN
    RAISE EXCEPTION 'organization % is moving to another database', v_realm_id USING ERRCODE = 'lock_not_available';
  END IF;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  RETURN NEW;
END
$$;
