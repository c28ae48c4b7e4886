-- Version 1

-- Objects of a deleted attachment belong to no attachment and are expired, also if a node of the previous version deletes it.
CREATE OR REPLACE FUNCTION "release_stored_objects"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE stored_object SET attachment_id = NULL, expires_at = 'epoch'
  WHERE realm_id = OLD.realm_id AND attachment_id = OLD.id;
  RETURN NULL;
END $$;
