-- Whether a visitor created the organization, without the operator. Such organizations can send fewer invitations at first.
ALTER TABLE "realm" ADD COLUMN IF NOT EXISTS "is_by_visitor" BOOLEAN NOT NULL DEFAULT false;
