-- Version 1

-- Guards the rows of an organization that moves to another database. `org move` creates the triggers and drops them again. They
-- do not run for changes that are replicated.
--
-- During the copy, a change holds a shared lock until its transaction ends. The hold of writes is the exclusive lock: it waits
-- for changes in progress, and later changes are refused. While the copy is compared, the keys of changed rows are recorded.
CREATE OR REPLACE FUNCTION "guard_moving_realm"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_realm_id integer := TG_ARGV[0]::integer;
  v_is_free boolean := pg_try_advisory_xact_lock_shared(7340175, v_realm_id);
  v_state text;
  v_records boolean;
  v_old jsonb;
  v_new jsonb;
BEGIN
  -- Read after the lock: the session that marks the organization as moved holds the lock until its commit.
  SELECT m.state, m.records_changes INTO v_state, v_records FROM realm_move m WHERE m.realm_id = v_realm_id;
  -- Background workers skip rows that are being replicated from the source, and do not clean up rows that have moved. Every other
  -- deletion logs an event, which is refused.
  IF v_state = 'arriving' OR (v_state = 'moved' AND TG_OP = 'DELETE') THEN RETURN NULL; END IF;
  IF v_state = 'moved' OR NOT v_is_free THEN
    RAISE EXCEPTION 'organization % is moving to another database', v_realm_id USING ERRCODE = 'lock_not_available';
  END IF;
  IF v_records THEN
    IF TG_OP <> 'INSERT' THEN
      v_old := (SELECT jsonb_object_agg(k, to_jsonb(OLD) -> k) FROM unnest(TG_ARGV[1]::text[]) AS k);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      v_new := (SELECT jsonb_object_agg(k, to_jsonb(NEW) -> k) FROM unnest(TG_ARGV[1]::text[]) AS k);
    END IF;
    INSERT INTO realm_move_change (realm_id, name, key)
      SELECT v_realm_id, TG_TABLE_NAME, k FROM (SELECT v_old UNION SELECT v_new) AS keys(k) WHERE k IS NOT NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  RETURN NEW;
END
$$;

-- Shows an organization in the target of its move, when the switch is replicated. It has all rows then, because changes arrive in
-- the order of their commits. Runs only for replicated rows, and stores none.
CREATE OR REPLACE FUNCTION "show_arrived_realm"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- The process that applies replicated changes has no search path.
  PERFORM set_config('search_path', quote_ident(TG_TABLE_SCHEMA), true);
  DELETE FROM realm_move m WHERE m.realm_id = NEW.realm_id AND m.state = 'arriving' AND m.move_id = NEW.move_id;
  IF FOUND THEN INSERT INTO realm SELECT * FROM jsonb_populate_record(NULL::realm, NEW.organization); END IF;
  RETURN NULL;
END
$$;
