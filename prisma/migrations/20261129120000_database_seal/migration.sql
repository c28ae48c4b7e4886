-- A database whose data was copied to another one refuses to start (`src/platform/db/seal.ts`), as does an incomplete copy.
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "seal" TEXT;
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "seal_place" TEXT;
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "sealed_at" TIMESTAMPTZ(6);
ALTER TABLE "log_epoch" ADD COLUMN IF NOT EXISTS "copy_id" UUID;
ALTER TABLE "log_epoch" DROP CONSTRAINT IF EXISTS "log_epoch_seal_bound";
ALTER TABLE "log_epoch" ADD CONSTRAINT "log_epoch_seal_bound" CHECK (octet_length("seal") <= 20);
ALTER TABLE "log_epoch" DROP CONSTRAINT IF EXISTS "log_epoch_seal_place_bound";
ALTER TABLE "log_epoch" ADD CONSTRAINT "log_epoch_seal_place_bound" CHECK (octet_length("seal_place") <= 4096);
