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
