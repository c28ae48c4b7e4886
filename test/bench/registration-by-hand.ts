// A hand-written server for registrations, with which the service is compared. One SQL statement builds the whole response as
// JSON, and the server forwards it.
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { work } from './workers.ts';

/**
 * SQL statement that inserts the event queue and reads, unprocessed, the rows that make up nearly all of a registration
 * response.
 */
const REGISTER = `
  WITH me AS (
    SELECT u.id, u.realm_id FROM api_key k JOIN user_account u ON u.id = k.user_id WHERE k.hash = $1 AND u.is_active
  ), made AS (
    INSERT INTO event_queue (id, user_id, realm_id, options, idle_timeout_secs, client_name, start_id, acked_id,
                             scanned_through, expires_at)
    SELECT $2, me.id, me.realm_id, '{}', 600, 'bench', c.last_id, c.last_id, c.last_id, now() + interval '600 seconds'
    FROM me JOIN event_counter c USING (realm_id)
  )
  SELECT json_build_object(
    'users', (SELECT json_agg(json_build_object(
        'user_id', u.id, 'email', u.email, 'full_name', u.full_name, 'role', u.role, 'date_joined', u.joined_at,
        'bot_type', u.bot_type, 'avatar_version', u.avatar_version, 'settings', u.settings, 'profile_data',
        (SELECT json_object_agg(field_id, json_build_object('value', value, 'rendered_value', rendered_value))
         FROM profile_value v WHERE v.user_id = u.id)))
      FROM user_account u JOIN me USING (realm_id)),
    'channels', (SELECT json_agg(to_json(c)) FROM channel c JOIN me USING (realm_id)),
    'subscriptions', (SELECT json_agg(to_json(s)) FROM subscription s JOIN me ON me.id = s.user_id),
    'subscribers', (SELECT json_object_agg(channel_id, user_ids) FROM (
        SELECT channel_id, array_agg(user_id) AS user_ids FROM subscription s JOIN me USING (realm_id)
        WHERE active GROUP BY channel_id) AS lists),
    'groups', (SELECT json_agg(json_build_object('group', to_json(g), 'members',
        (SELECT array_agg(user_id) FROM user_group_member m WHERE m.group_id = g.id)))
      FROM user_group g JOIN me USING (realm_id)),
    'fields', (SELECT json_agg(to_json(f)) FROM profile_field f JOIN me USING (realm_id)),
    'emoji', (SELECT json_agg(to_json(e)) FROM custom_emoji e JOIN me USING (realm_id)),
    'unread', (SELECT json_agg(json_build_object('id', m.id, 'channel_id', m.channel_id, 'topic', m.topic))
      FROM message m JOIN me USING (realm_id)
      JOIN subscription s ON s.user_id = me.id AND s.channel_id = m.channel_id)
  )::text AS body FROM me`;

export const tasks = {
  async serve({ databaseUrl, poolSize }: { databaseUrl: string; poolSize: number }): Promise<number> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
    const server = createServer(async ({ headers: { authorization = '' } }, response) => {
      const [, key = ''] = Buffer.from(authorization.slice('Basic '.length), 'base64').toString().split(':');
      const hash = createHash('sha256').update(key).digest();
      const query = { name: 'register', text: REGISTER, values: [hash, randomUUID()] };
      const { rows } = await pool.query<{ body: string }>(query);
      const body = rows[0]?.body ?? '';
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  },
};

work(tasks);
