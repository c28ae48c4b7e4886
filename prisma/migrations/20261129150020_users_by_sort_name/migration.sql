-- One by one
-- Lists of users by name are read in pages, by an index in the order of their sort keys.
CREATE INDEX IF NOT EXISTS "user_account_by_sort_name" ON "user_account" ("realm_id", "sort_name", "id");
