-- Version 1

-- Entries of the audit log never change. They are deleted only by the retention and with their organization, which set
-- `audit_log.prunes` in their transaction.
CREATE OR REPLACE FUNCTION "keep_audit_log_entry"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND (current_setting('audit_log.prunes', true) = 'on'
    OR NOT EXISTS (SELECT FROM realm WHERE id = OLD.realm_id)) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
