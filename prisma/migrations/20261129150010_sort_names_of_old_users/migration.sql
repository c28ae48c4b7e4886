-- In batches
-- Sets the sort keys of users that existed before the trigger set them. A batch locks only its rows, so that nodes of the previous
-- version can use the table meanwhile.

UPDATE "user_account" SET "sort_name" = name_sort_key("full_name")
WHERE ("realm_id", "id") IN (SELECT "realm_id", "id" FROM "user_account" WHERE "sort_name" = '' LIMIT 2000)
