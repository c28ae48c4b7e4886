-- The uploaded icon of an organization. No reference: images refer to their organization, and are deleted with it.
ALTER TABLE "realm" ADD COLUMN IF NOT EXISTS "icon_image_id" UUID;
ALTER TABLE "realm" ADD COLUMN IF NOT EXISTS "icon_version" INTEGER NOT NULL DEFAULT 1;
