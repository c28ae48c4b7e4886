-- Devices of apps, with tokens of the push services of phones.
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "kind" TEXT NOT NULL DEFAULT 'web';
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "is_client_device" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "app_id" TEXT;
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "push_key" BYTEA;
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "push_key_id" BIGINT;
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "token_id" TEXT;
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "pending_token_id" TEXT;
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "token_updated_at" TIMESTAMPTZ(6);
ALTER TABLE "push_device" ADD COLUMN IF NOT EXISTS "registration_error" TEXT;
-- Tokens can be longer than the URLs of push services.
ALTER TABLE "push_device" DROP CONSTRAINT IF EXISTS "push_device_endpoint_bound";
ALTER TABLE "push_device" ADD CONSTRAINT "push_device_endpoint_bound" CHECK (octet_length("endpoint") <= 4200) NOT VALID;
DO $$
BEGIN
  ALTER TABLE "push_device"
    ADD CONSTRAINT "push_device_kind_bound" CHECK (octet_length("kind") <= 20) NOT VALID,
    ADD CONSTRAINT "push_device_kind_known" CHECK ("kind" IN ('web', 'fcm', 'apns', 'none')) NOT VALID,
    ADD CONSTRAINT "push_device_app_id_bound" CHECK (octet_length("app_id") <= 255) NOT VALID,
    ADD CONSTRAINT "push_device_push_key_bound" CHECK (octet_length("push_key") = 32) NOT VALID,
    ADD CONSTRAINT "push_device_push_key_id_bound" CHECK ("push_key_id" BETWEEN 0 AND 4294967295) NOT VALID,
    ADD CONSTRAINT "push_device_token_id_bound" CHECK (octet_length("token_id") <= 12) NOT VALID,
    ADD CONSTRAINT "push_device_pending_token_id_bound" CHECK (octet_length("pending_token_id") <= 12) NOT VALID,
    ADD CONSTRAINT "push_device_registration_error_bound" CHECK (octet_length("registration_error") <= 100) NOT VALID;
EXCEPTION WHEN duplicate_object THEN NULL;
END
$$;
