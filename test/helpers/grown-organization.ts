/** A function that runs one SQL statement. */
type Run = (sql: string) => Promise<unknown>;

/** Ids in an organization, and the number of rows that its lists get. */
export interface Growth {
  readonly organizationId: number;
  readonly ownerId: number;
  readonly size: number;
}

/** Name of the channel and of the group whose own lists are filled, such as the subscribers of the channel. */
export const GROWN = 'grown 0';

/**
 * Fills the lists of an organization directly in the database, each with `size` rows: those of the organization, those of its
 * owner, those of the channel and the group `GROWN`, and those of the newest topic and message in that channel.
 */
export async function growOrganization(
  run: Run,
  { organizationId: realm, ownerId: owner, size }: Growth,
): Promise<void> {
  const statements = [
    `INSERT INTO user_account (realm_id, email, full_name, avatar_source, settings)
       SELECT ${realm}, 'grown' || n || '-' || ${realm} || '@example.com', 'Grown ' || n, 'J', '{}' FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO user_account (realm_id, email, full_name, avatar_source, settings, bot_type, bot_owner_id)
       SELECT ${realm}, 'robot' || n || '-' || ${realm} || '@example.com', 'Robot ' || n, 'J', '{}', 1, ${owner} FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO channel (realm_id, name, topics_policy) SELECT ${realm}, 'grown ' || n, 'inherit' FROM generate_series(0, ${size}) AS n`,
    `INSERT INTO subscription (realm_id, user_id, channel_id, color) SELECT realm_id, ${owner}, id, '#76ce90' FROM channel WHERE realm_id = ${realm} AND name LIKE 'grown %'`,
    `INSERT INTO subscription (realm_id, user_id, channel_id, color)
       SELECT ${realm}, u.id, c.id, '#76ce90' FROM channel c, user_account u WHERE c.realm_id = ${realm} AND c.name = 'grown 0' AND u.realm_id = ${realm} AND u.full_name LIKE 'Grown %'`,
    `INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
       SELECT s.realm_id, s.user_id, s.channel_id, 1 FROM subscription s JOIN channel c ON c.realm_id = s.realm_id AND c.id = s.channel_id WHERE s.realm_id = ${realm} AND c.name LIKE 'grown %'`,
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name, sent_at, sent_event_id, send_token)
       SELECT ${realm}, nextval('message_id_seq'), ${owner}, c.id, c.id, 'topic ' || n, 'hello', '<p>hello</p>', 'test', now(), 1, 1 FROM channel c, generate_series(1, ${size}) AS n WHERE c.realm_id = ${realm} AND c.name = 'grown 0'`,
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name, sent_at, sent_event_id, send_token)
       SELECT ${realm}, nextval('message_id_seq'), ${owner}, c.id, c.id, 'long', 'hello', '<p>hello</p>', 'test', now(), 1, 1 FROM channel c, generate_series(1, ${size}) AS n WHERE c.realm_id = ${realm} AND c.name = 'grown 0'`,
    `INSERT INTO user_message (realm_id, user_id, message_id, starred) SELECT realm_id, ${owner}, id, true FROM message WHERE realm_id = ${realm}`,
    `INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
       SELECT ${realm}, u.id, c.id::bigint * 2, 1000000000 FROM channel c, user_account u WHERE c.realm_id = ${realm} AND c.name = 'grown 0' AND u.realm_id = ${realm} AND u.full_name LIKE 'Grown %'`,
    `INSERT INTO message_edit (realm_id, message_id, editor_id, edited_at, prev_content, prev_rendered_content)
       SELECT ${realm}, (SELECT max(id) FROM message WHERE realm_id = ${realm}), ${owner}, now(), 'hello ' || n, '<p>hello</p>' FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO user_group (realm_id, name) SELECT ${realm}, 'grown ' || n FROM generate_series(0, ${size}) AS n`,
    `INSERT INTO user_group_member (realm_id, group_id, user_id)
       SELECT ${realm}, g.id, u.id FROM user_group g, user_account u WHERE g.realm_id = ${realm} AND g.name = 'grown 0' AND u.realm_id = ${realm} AND u.full_name LIKE 'Grown %'`,
    `UPDATE user_account SET group_ids = ARRAY(SELECT id FROM user_group WHERE realm_id = ${realm} AND name = 'grown 0') WHERE realm_id = ${realm} AND full_name LIKE 'Grown %'`,
    `INSERT INTO user_group_subgroup (realm_id, group_id, subgroup_id)
       SELECT ${realm}, outer_group.id, g.id FROM user_group outer_group, user_group g WHERE outer_group.realm_id = ${realm} AND outer_group.name = 'grown 0' AND g.realm_id = ${realm} AND g.name LIKE 'grown %' AND g.id <> outer_group.id`,
    `INSERT INTO channel_folder (realm_id, name, position) SELECT ${realm}, 'grown ' || n, n FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO realm_domain (realm_id, domain, allow_subdomains) SELECT ${realm}, 'd' || n || '.example', false FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO draft (realm_id, author_id, type, topic, content, last_edited_at) SELECT ${realm}, ${owner}, '', '', 'x', '2026-01-01'::timestamptz + n * interval '1 s' FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO saved_snippet (realm_id, author_id, title, content) SELECT ${realm}, ${owner}, 'grown ' || n, 'x' FROM generate_series(1, ${size}) AS n`,
    `WITH picture AS (INSERT INTO image (id, realm_id, media_type, bytes) SELECT gen_random_uuid(), ${realm}, 'image/png', '\\x00' FROM generate_series(1, ${size}) AS n RETURNING id)
       INSERT INTO custom_emoji (realm_id, name, image_id) SELECT ${realm}, 'grown_' || row_number() OVER (), id FROM picture`,
    `INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated) SELECT ${realm}, ${owner}, c.id, 'topic ' || n, 1, '2026-01-01' FROM channel c, generate_series(1, ${size}) AS n WHERE c.realm_id = ${realm} AND c.name = 'grown 0'`,
    `INSERT INTO navigation_view (realm_id, user_id, fragment, is_pinned) SELECT ${realm}, ${owner}, 'narrow/is/' || n, false FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO scheduled_message (realm_id, owner_id, kind, content, rendered_content, scheduled_at, client_name, channel_id, topic, recipient_ids)
       SELECT ${realm}, ${owner}, 'message', 'x', '<p>x</p>', '2100-01-01', 'test', c.id, 't', '{}' FROM channel c, generate_series(1, ${size}) AS n WHERE c.realm_id = ${realm} AND c.name = 'grown 0'`,
    `INSERT INTO scheduled_message (realm_id, owner_id, kind, content, rendered_content, scheduled_at, client_name, reminder_target_id)
       SELECT ${realm}, ${owner}, 'reminder', 'x', '<p>x</p>', '2100-01-01', 'test', (SELECT max(id) FROM message WHERE realm_id = ${realm}) FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO presence (realm_id, user_id, update_id, active_at, idle_at)
       SELECT ${realm}, id, row_number() OVER (), now(), now() FROM user_account WHERE realm_id = ${realm} AND full_name LIKE 'Grown %'`,
    `WITH made AS (
       INSERT INTO conversation (realm_id, member_ids) SELECT ${realm}, ARRAY[least(${owner}, id), greatest(${owner}, id)] FROM user_account WHERE realm_id = ${realm} AND full_name LIKE 'Grown %' RETURNING id, member_ids),
     members AS (INSERT INTO conversation_member (realm_id, user_id, conversation_id) SELECT ${realm}, member, id FROM made, unnest(member_ids) AS member)
       INSERT INTO message (realm_id, id, sender_id, conversation_id, content, rendered_content, client_name, sent_at, sent_event_id, send_token)
       SELECT ${realm}, nextval('message_id_seq'), ${owner}, id, 'hello', '<p>hello</p>', 'test', now(), 1, 1 FROM made`,
    `INSERT INTO session (realm_id, user_id, token_hash, token_at, created_at, last_seen_at, idle_expires_at, expires_at, user_agent, network_address)
       SELECT ${realm}, ${owner}, sha256((${realm} || ' ' || n)::bytea), now(), now(), now(), '2100-01-01', '2100-01-01', 'test', '::1' FROM generate_series(1, ${size}) AS n`,
    // With the key of the owner, because a worker deletes devices without a valid key or session.
    `INSERT INTO push_device (realm_id, user_id, key_hash, endpoint, endpoint_hash, public_key, auth_secret, name, created_at)
       SELECT ${realm}, ${owner}, (SELECT hash FROM api_key WHERE realm_id = ${realm} AND user_id = ${owner}), 'https://push.invalid/' || n, sha256((${realm} || ' ' || n)::bytea), 'x', 'x', 'Grown', now() FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO invitation (realm_id, inviter_id, is_reusable, email, role, channel_ids, includes_default_channels, group_ids, notifies_inviter, token_hash, created_at, sent_at)
       SELECT ${realm}, ${owner}, false, 'i' || n || '@grown.example', 400, '{}', true, '{}', false, sha256((${realm} || ' ' || n)::bytea), now(), '{}' FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO attachment (realm_id, owner_id, token, name, path_name, media_type, size, created_at, is_complete)
       SELECT ${realm}, ${owner}, 'grown' || n, 'x', 'x', 'text/plain', 1, now(), true FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO audit_log_entry (realm_id, created_at, actor_kind, actor_id, action, object_type, object_id, details)
       SELECT ${realm}, now(), 'user', ${owner}, 'user_role_changed', 'user', ${owner}, '{"role": {"old": 400, "new": 300}}' FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO named_api_key (realm_id, user_id, name, hash, scopes, created_at)
       SELECT ${realm}, ${owner}, 'key ' || n, sha256((${realm} || ' ' || n)::bytea), '{read}', now() FROM generate_series(1, ${size}) AS n`,
    `INSERT INTO identity_provider (realm_id, slug, name, issuer, client_id, sealed_secret, domains, creates_accounts, is_enabled, created_at)
       SELECT ${realm}, 'grown-' || n, 'Grown', 'https://identity.example', 'grown', '\\x00', '{}', false, true, now() FROM generate_series(1, ${size}) AS n`,
  ];
  for (const sql of statements) await run(sql);
}
