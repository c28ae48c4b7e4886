-- The id of the service in the names of its cookies, and the place of the database at which the id was given (src/server/cookie-id.ts).
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "cookie_id" TEXT;
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "cookie_place" TEXT;
ALTER TABLE "log_epoch" DROP CONSTRAINT IF EXISTS "log_epoch_cookie_id_bound";
ALTER TABLE "log_epoch" ADD CONSTRAINT "log_epoch_cookie_id_bound" CHECK (octet_length("cookie_id") <= 20);
ALTER TABLE "log_epoch" DROP CONSTRAINT IF EXISTS "log_epoch_cookie_place_bound";
ALTER TABLE "log_epoch" ADD CONSTRAINT "log_epoch_cookie_place_bound" CHECK (octet_length("cookie_place") <= 4096);

-- A new database gets an id at its first start. In other databases it stays null: their first start stores the id that the previous
-- version used.
UPDATE "log_epoch" SET "cookie_id" = '' WHERE "cookie_id" IS NULL AND NOT EXISTS (SELECT FROM "realm");
