-- In batches
-- Validates the foreign keys of the migration before. Reads and writes continue meanwhile. A batch is one foreign key.
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN
    SELECT c.conrelid::regclass AS referencing, c.conname AS name FROM pg_constraint c
    WHERE c.contype = 'f' AND NOT c.convalidated AND c.connamespace = quote_ident(current_schema())::regnamespace ORDER BY 1, 2
    LIMIT NULLIF(current_setting('migration.batch', true), '')::integer
  LOOP
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', r.referencing, r.name);
  END LOOP;
END
$$;
SELECT c.conname AS remaining FROM pg_constraint c
WHERE c.contype = 'f' AND NOT c.convalidated AND c.connamespace = quote_ident(current_schema())::regnamespace LIMIT 1
