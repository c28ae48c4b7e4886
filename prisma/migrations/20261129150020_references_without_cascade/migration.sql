-- In batches
-- Creates the foreign keys with ON UPDATE CASCADE again, without it: the organization of a row never changes, and neither does an
-- id. NOT VALID, so that no row is read while two tables are locked. The next migration validates them. A batch is one foreign key.
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN
    SELECT c.conrelid::regclass AS referencing, c.conname AS name,
           -- Without NOT VALID of a constraint that already has it, because it is added below.
           regexp_replace(replace(pg_get_constraintdef(c.oid), ' ON UPDATE CASCADE', ''), ' NOT VALID$', '') AS definition
    FROM pg_constraint c
    WHERE c.contype = 'f' AND c.confupdtype = 'c' AND c.connamespace = quote_ident(current_schema())::regnamespace ORDER BY 1, 2
    LIMIT NULLIF(current_setting('migration.batch', true), '')::integer
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s NOT VALID', r.referencing, r.name, r.name, r.definition);
  END LOOP;
END
$$;
SELECT c.conname AS remaining FROM pg_constraint c
WHERE c.contype = 'f' AND c.confupdtype = 'c' AND c.connamespace = quote_ident(current_schema())::regnamespace LIMIT 1
