-- Validates the foreign keys of the migration before. Reads and writes continue meanwhile.
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN
    SELECT c.conrelid::regclass AS referencing, c.conname AS name FROM pg_constraint c
    WHERE c.contype = 'f' AND NOT c.convalidated AND c.connamespace = quote_ident(current_schema())::regnamespace ORDER BY 1, 2
  LOOP
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', r.referencing, r.name);
  END LOOP;
END
$$;
