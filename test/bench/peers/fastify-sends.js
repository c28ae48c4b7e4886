// The usual way to send a message: fastify, one INSERT that checks the sender's permission, and a NOTIFY in the same commit.
import Fastify from 'fastify';
import { openPool, signInWith, workAsPeer } from './served.js';

const TABLE = `
  CREATE TABLE IF NOT EXISTS peer_message (
    id bigserial PRIMARY KEY, realm_id integer NOT NULL, sender_id integer NOT NULL, channel_id integer NOT NULL,
    FOREIGN KEY (realm_id, sender_id) REFERENCES user_account (realm_id, id),
    FOREIGN KEY (realm_id, channel_id) REFERENCES channel (realm_id, id), topic text NOT NULL, content text NOT NULL,
    rendered_content text NOT NULL, sent_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX IF NOT EXISTS peer_message_by_channel ON peer_message (channel_id, id);`;

const SEND = `
  WITH sent AS (
    INSERT INTO peer_message (realm_id, sender_id, channel_id, topic, content, rendered_content)
    SELECT c.realm_id, $1, c.id, $4, $5, $6 FROM channel c
    WHERE c.id = $3 AND c.realm_id = $2 AND NOT c.is_archived
      AND (NOT c.invite_only OR EXISTS (SELECT FROM subscription s WHERE s.realm_id = c.realm_id AND s.channel_id = c.id AND s.user_id = $1 AND s.active))
    RETURNING id, channel_id
  )
  SELECT id, pg_notify('peer_message', json_build_object('id', id, 'channel', channel_id)::text) FROM sent`;

const ESCAPED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const render = (content) => `<p>${content.replaceAll(/[&<>"]/g, (character) => ESCAPED[character])}</p>`;

async function serve({ databaseUrl, poolSize, together }) {
  const pool = openPool({ databaseUrl, poolSize });
  await pool.query(TABLE);
  const signIn = signInWith(pool, together);
  const app = Fastify();
  const parse = (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body)));
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, parse);
  app.post('/api/v1/messages', async (request, reply) => {
    const viewer = await signIn(request);
    const { to, topic, content } = request.body;
    const values = [viewer.id, viewer.realm_id, Number(to), topic, content, render(content)];
    const { rows } = await pool.query({ name: 'send', text: SEND, values });
    if (rows.length === 0) return reply.code(400).send({ result: 'error' });
    return { result: 'success', msg: '', id: rows[0].id };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address().port;
}

workAsPeer(serve);
