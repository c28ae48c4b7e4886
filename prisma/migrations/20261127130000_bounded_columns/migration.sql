-- Every column that holds text, bytes, JSON or a list has an upper bound: a fault of the service cannot store what no reader
-- could answer with. The bounds are those of the service or above: it refuses earlier, with an error that says why.
--
-- Rows that are there are not checked, so that a large table is locked for a moment only: none can be longer than what the
-- service accepted. The tables of sends come last.

ALTER TABLE "alert_word"
  ADD CONSTRAINT "alert_word_head_bound" CHECK (octet_length("head") <= 1000) NOT VALID;

ALTER TABLE "api_key"
  ADD CONSTRAINT "api_key_sealed_bound" CHECK (octet_length("sealed") <= 4096) NOT VALID;

ALTER TABLE "call_token"
  ADD CONSTRAINT "call_token_sealed_bound" CHECK (octet_length("sealed") <= 65536) NOT VALID;

ALTER TABLE "channel"
  ADD CONSTRAINT "channel_permissions_bound" CHECK (pg_column_size("permissions") <= 1048576) NOT VALID,
  ADD CONSTRAINT "channel_rendered_description_bound" CHECK (octet_length("rendered_description") <= 1000000) NOT VALID,
  ADD CONSTRAINT "channel_topics_policy_bound" CHECK (octet_length("topics_policy") <= 100) NOT VALID;

ALTER TABLE "channel_folder"
  ADD CONSTRAINT "channel_folder_rendered_description_bound" CHECK (octet_length("rendered_description") <= 1000000) NOT VALID;

ALTER TABLE "custom_emoji"
  ADD CONSTRAINT "custom_emoji_name_bound" CHECK (octet_length("name") <= 1000) NOT VALID;

ALTER TABLE "deleted_message"
  ADD CONSTRAINT "deleted_message_body_bound" CHECK (pg_column_size("body") <= 67108864) NOT VALID;

ALTER TABLE "draft"
  ADD CONSTRAINT "draft_type_bound" CHECK (octet_length("type") <= 100) NOT VALID,
  ADD CONSTRAINT "draft_content_bound" CHECK (octet_length("content") <= 40000) NOT VALID,
  ADD CONSTRAINT "draft_to_bound" CHECK (cardinality("to") <= 2000) NOT VALID;

ALTER TABLE "email_change"
  ADD CONSTRAINT "email_change_new_email_bound" CHECK (octet_length("new_email") <= 4096) NOT VALID,
  ADD CONSTRAINT "email_change_token_hash_bound" CHECK (octet_length("token_hash") <= 64) NOT VALID;

ALTER TABLE "event_queue"
  ADD CONSTRAINT "event_queue_client_name_bound" CHECK (octet_length("client_name") <= 400) NOT VALID,
  ADD CONSTRAINT "event_queue_end_reason_bound" CHECK (octet_length("end_reason") <= 100) NOT VALID,
  ADD CONSTRAINT "event_queue_holder_bound" CHECK (octet_length("holder") <= 1000) NOT VALID,
  ADD CONSTRAINT "event_queue_options_bound" CHECK (pg_column_size("options") <= 262144) NOT VALID;

ALTER TABLE "idempotency_record"
  ADD CONSTRAINT "idempotency_record_input_hash_bound" CHECK (octet_length("input_hash") <= 64) NOT VALID,
  ADD CONSTRAINT "idempotency_record_result_bound" CHECK (pg_column_size("result") <= 1048576) NOT VALID;

ALTER TABLE "image"
  ADD CONSTRAINT "image_bytes_bound" CHECK (octet_length("bytes") <= 33554432) NOT VALID,
  ADD CONSTRAINT "image_reduced_bound" CHECK (octet_length("reduced") <= 33554432) NOT VALID,
  ADD CONSTRAINT "image_media_type_bound" CHECK (octet_length("media_type") <= 200) NOT VALID;

ALTER TABLE "log_epoch"
  ADD CONSTRAINT "log_epoch_cluster_bound" CHECK (octet_length("cluster") <= 4096) NOT VALID,
  ADD CONSTRAINT "log_epoch_copy_bound" CHECK (octet_length("copy") <= 4096) NOT VALID,
  ADD CONSTRAINT "log_epoch_tables_bound" CHECK (octet_length("tables") <= 1048576) NOT VALID,
  ADD CONSTRAINT "log_epoch_timeline_bound" CHECK (octet_length("timeline") <= 4096) NOT VALID;

ALTER TABLE "message_count"
  ADD CONSTRAINT "message_count_key_bound" CHECK (octet_length("key") <= 1000) NOT VALID;

ALTER TABLE "message_edit"
  ADD CONSTRAINT "message_edit_prev_content_bound" CHECK (octet_length("prev_content") <= 40000) NOT VALID,
  ADD CONSTRAINT "message_edit_prev_rendered_content_bound" CHECK (octet_length("prev_rendered_content") <= 4000000) NOT VALID,
  ADD CONSTRAINT "message_edit_prev_topic_bound" CHECK (octet_length("prev_topic") <= 1000) NOT VALID;

ALTER TABLE "navigation_view"
  ADD CONSTRAINT "navigation_view_fragment_bound" CHECK (octet_length("fragment") <= 2000) NOT VALID,
  ADD CONSTRAINT "navigation_view_name_bound" CHECK (octet_length("name") <= 400) NOT VALID;

ALTER TABLE "outgoing_mail"
  ADD CONSTRAINT "outgoing_mail_body_bound" CHECK (octet_length("body") <= 1048576) NOT VALID,
  ADD CONSTRAINT "outgoing_mail_last_error_bound" CHECK (octet_length("last_error") <= 1048576) NOT VALID,
  ADD CONSTRAINT "outgoing_mail_recipient_bound" CHECK (octet_length("recipient") <= 4096) NOT VALID,
  ADD CONSTRAINT "outgoing_mail_subject_bound" CHECK (octet_length("subject") <= 10000) NOT VALID;

ALTER TABLE "profile_field"
  ADD CONSTRAINT "profile_field_field_data_bound" CHECK (octet_length("field_data") <= 1048576) NOT VALID;

ALTER TABLE "profile_value"
  ADD CONSTRAINT "profile_value_value_bound" CHECK (octet_length("value") <= 65536) NOT VALID,
  ADD CONSTRAINT "profile_value_rendered_value_bound" CHECK (octet_length("rendered_value") <= 1048576) NOT VALID;

ALTER TABLE "reaction"
  ADD CONSTRAINT "reaction_emoji_code_bound" CHECK (octet_length("emoji_code") <= 1000) NOT VALID,
  ADD CONSTRAINT "reaction_emoji_name_bound" CHECK (octet_length("emoji_name") <= 1000) NOT VALID,
  ADD CONSTRAINT "reaction_reaction_type_bound" CHECK (octet_length("reaction_type") <= 100) NOT VALID;

ALTER TABLE "realm"
  ADD CONSTRAINT "realm_description_bound" CHECK (octet_length("description") <= 4000) NOT VALID,
  ADD CONSTRAINT "realm_settings_bound" CHECK (pg_column_size("settings") <= 1048576) NOT VALID,
  ADD CONSTRAINT "realm_subdomain_bound" CHECK (octet_length("subdomain") <= 63) NOT VALID,
  ADD CONSTRAINT "realm_user_defaults_bound" CHECK (pg_column_size("user_defaults") <= 1048576) NOT VALID;

ALTER TABLE "saved_snippet"
  ADD CONSTRAINT "saved_snippet_content_bound" CHECK (octet_length("content") <= 40000) NOT VALID;

ALTER TABLE "scheduled_message"
  ADD CONSTRAINT "scheduled_message_kind_bound" CHECK (octet_length("kind") <= 100) NOT VALID,
  ADD CONSTRAINT "scheduled_message_client_name_bound" CHECK (octet_length("client_name") <= 400) NOT VALID,
  ADD CONSTRAINT "scheduled_message_content_bound" CHECK (octet_length("content") <= 50000) NOT VALID,
  ADD CONSTRAINT "scheduled_message_failure_message_bound" CHECK (octet_length("failure_message") <= 10000) NOT VALID,
  ADD CONSTRAINT "scheduled_message_rendered_content_bound" CHECK (octet_length("rendered_content") <= 4000000) NOT VALID,
  ADD CONSTRAINT "scheduled_message_state_bound" CHECK (octet_length("state") <= 100) NOT VALID,
  ADD CONSTRAINT "scheduled_message_topic_bound" CHECK (octet_length("topic") <= 1000) NOT VALID,
  ADD CONSTRAINT "scheduled_message_recipient_ids_bound" CHECK (cardinality("recipient_ids") <= 500) NOT VALID;

ALTER TABLE "session"
  ADD CONSTRAINT "session_network_address_bound" CHECK (octet_length("network_address") <= 1000) NOT VALID,
  ADD CONSTRAINT "session_user_agent_bound" CHECK (octet_length("user_agent") <= 4096) NOT VALID,
  ADD CONSTRAINT "session_next_hash_bound" CHECK (octet_length("next_hash") <= 64) NOT VALID,
  ADD CONSTRAINT "session_previous_hash_bound" CHECK (octet_length("previous_hash") <= 64) NOT VALID,
  ADD CONSTRAINT "session_token_hash_bound" CHECK (octet_length("token_hash") <= 64) NOT VALID;

ALTER TABLE "subscription"
  ADD CONSTRAINT "subscription_color_bound" CHECK (octet_length("color") <= 7) NOT VALID;

ALTER TABLE "used_token"
  ADD CONSTRAINT "used_token_id_hash_bound" CHECK (octet_length("id_hash") <= 64) NOT VALID;

ALTER TABLE "user_account"
  ADD CONSTRAINT "user_account_avatar_source_bound" CHECK (octet_length("avatar_source") <= 10) NOT VALID,
  ADD CONSTRAINT "user_account_email_bound" CHECK (octet_length("email") <= 4096) NOT VALID,
  ADD CONSTRAINT "user_account_full_member_group_ids_bound" CHECK (cardinality("full_member_group_ids") <= 10000) NOT VALID,
  ADD CONSTRAINT "user_account_group_ids_bound" CHECK (cardinality("group_ids") <= 10000) NOT VALID,
  ADD CONSTRAINT "user_account_password_hash_bound" CHECK (octet_length("password_hash") <= 1000) NOT VALID,
  ADD CONSTRAINT "user_account_settings_bound" CHECK (pg_column_size("settings") <= 1048576) NOT VALID;

ALTER TABLE "user_group"
  ADD CONSTRAINT "user_group_description_bound" CHECK (octet_length("description") <= 4096) NOT VALID,
  ADD CONSTRAINT "user_group_name_bound" CHECK (octet_length("name") <= 400) NOT VALID,
  ADD CONSTRAINT "user_group_permissions_bound" CHECK (pg_column_size("permissions") <= 1048576) NOT VALID;

ALTER TABLE "user_status"
  ADD CONSTRAINT "user_status_emoji_code_bound" CHECK (octet_length("emoji_code") <= 1000) NOT VALID,
  ADD CONSTRAINT "user_status_emoji_name_bound" CHECK (octet_length("emoji_name") <= 1000) NOT VALID,
  ADD CONSTRAINT "user_status_reaction_type_bound" CHECK (octet_length("reaction_type") <= 100) NOT VALID;

ALTER TABLE "message"
  ADD CONSTRAINT "message_client_name_bound" CHECK (octet_length("client_name") <= 400) NOT VALID,
  ADD CONSTRAINT "message_rendered_content_bound" CHECK (octet_length("rendered_content") <= 4000000) NOT VALID;

ALTER TABLE "event"
  ADD CONSTRAINT "event_type_bound" CHECK (octet_length("type") <= 100) NOT VALID,
  ADD CONSTRAINT "event_op_bound" CHECK (octet_length("op") <= 100) NOT VALID,
  ADD CONSTRAINT "event_payload_bound" CHECK (pg_column_size("payload") <= 134217728) NOT VALID,
  ADD CONSTRAINT "event_user_ids_bound" CHECK (cardinality("user_ids") <= 5000000) NOT VALID,
  ADD CONSTRAINT "event_except_user_ids_bound" CHECK (cardinality("except_user_ids") <= 5000000) NOT VALID;
