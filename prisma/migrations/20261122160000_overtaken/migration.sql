-- Keeps a log from growing until the transaction is over, and tells whether anything has been logged after `p_seen`, but for
-- events of the types in `p_harmless`. Two statements, because the second must see what was committed while the first waited.
CREATE FUNCTION "hold_log"(p_realm_id INTEGER, p_seen BIGINT, p_harmless TEXT[]) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  v_last_id BIGINT;
BEGIN
  SELECT last_id INTO STRICT v_last_id FROM event_counter WHERE realm_id = p_realm_id FOR NO KEY UPDATE;
  RETURN v_last_id <> p_seen AND EXISTS (
    SELECT FROM event WHERE realm_id = p_realm_id AND id > p_seen AND type <> ALL (p_harmless));
END
$$;
