-- Organizations that move to another database or have moved there (`src/platform/db/organization-moves.ts`).
CREATE TABLE IF NOT EXISTS "realm_move" (
    "realm_id" INTEGER NOT NULL,
    "subdomain" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "place" TEXT NOT NULL,
    "move_id" UUID NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL,
    "organization" JSONB,
    "returns" BOOLEAN NOT NULL DEFAULT false,
    "records_changes" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "realm_move_pkey" PRIMARY KEY ("realm_id")
);
ALTER TABLE "realm_move" DROP CONSTRAINT IF EXISTS "realm_move_subdomain_bound";
ALTER TABLE "realm_move" ADD CONSTRAINT "realm_move_subdomain_bound" CHECK (octet_length("subdomain") <= 256);
ALTER TABLE "realm_move" DROP CONSTRAINT IF EXISTS "realm_move_state_bound";
ALTER TABLE "realm_move" ADD CONSTRAINT "realm_move_state_bound" CHECK (octet_length("state") <= 20);
ALTER TABLE "realm_move" DROP CONSTRAINT IF EXISTS "realm_move_place_bound";
ALTER TABLE "realm_move" ADD CONSTRAINT "realm_move_place_bound" CHECK (octet_length("place") <= 4096);
ALTER TABLE "realm_move" DROP CONSTRAINT IF EXISTS "realm_move_organization_bound";
ALTER TABLE "realm_move" ADD CONSTRAINT "realm_move_organization_bound" CHECK (pg_column_size("organization") <= 4194304);

-- Keys of the rows of a leaving organization that change while the copy is compared.
CREATE TABLE IF NOT EXISTS "realm_move_change" (
    "realm_id" INTEGER NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "key" JSONB NOT NULL,

    CONSTRAINT "realm_move_change_pkey" PRIMARY KEY ("realm_id", "id")
);
ALTER TABLE "realm_move_change" DROP CONSTRAINT IF EXISTS "realm_move_change_name_bound";
ALTER TABLE "realm_move_change" ADD CONSTRAINT "realm_move_change_name_bound" CHECK (octet_length("name") <= 63);
ALTER TABLE "realm_move_change" DROP CONSTRAINT IF EXISTS "realm_move_change_key_bound";
ALTER TABLE "realm_move_change" ADD CONSTRAINT "realm_move_change_key_bound" CHECK (pg_column_size("key") <= 1048576);

-- Always empty: the switch inserts a row and deletes it, so that its replication shows the organization in the target.
CREATE TABLE IF NOT EXISTS "realm_arrival" (
    "realm_id" INTEGER NOT NULL,
    "move_id" UUID NOT NULL,
    "organization" JSONB NOT NULL,

    CONSTRAINT "realm_arrival_pkey" PRIMARY KEY ("realm_id")
);
ALTER TABLE "realm_arrival" DROP CONSTRAINT IF EXISTS "realm_arrival_organization_bound";
ALTER TABLE "realm_arrival" ADD CONSTRAINT "realm_arrival_organization_bound" CHECK (pg_column_size("organization") <= 4194304);

CREATE OR REPLACE FUNCTION "show_arrived_realm"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- The process that applies replicated changes has no search path.
  PERFORM set_config('search_path', quote_ident(TG_TABLE_SCHEMA), true);
  DELETE FROM realm_move m WHERE m.realm_id = NEW.realm_id AND m.state = 'arriving' AND m.move_id = NEW.move_id;
  IF FOUND THEN INSERT INTO realm SELECT * FROM jsonb_populate_record(NULL::realm, NEW.organization); END IF;
  RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER "realm_arrival_shown" BEFORE INSERT ON "realm_arrival"
  FOR EACH ROW EXECUTE FUNCTION "show_arrived_realm"();
ALTER TABLE "realm_arrival" ENABLE REPLICA TRIGGER "realm_arrival_shown";
