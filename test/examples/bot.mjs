// Replies to users who mention it: node bot.mjs http://127.0.0.1:4000 build-bot@localhost:ITS_API_KEY
const [url, login] = process.argv.slice(2);
const pause = () => new Promise((resolve) => setTimeout(resolve, 1000));

/** Repeats a request until it is answered, so that the bot survives restarts of the server. */
async function call(method, path, fields = {}, headers = {}) {
  const form = new URLSearchParams(fields);
  for (;;) {
    try {
      const reply = await fetch(`${url}/api/v1${path}${method === 'GET' ? `?${form}` : ''}`, {
        method,
        headers: { authorization: `Basic ${btoa(login)}`, ...headers },
        ...(method !== 'GET' && { body: form }),
      });
      if (reply.ok) return await reply.json();
      if (reply.status < 500 && reply.status !== 429) throw new Error((await reply.json()).msg);
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error; // Thrown by fetch if the connection fails.
    }
    await pause();
  }
}

/** Replies once, even if the request is repeated after a lost response: the idempotency key is derived from the message. */
async function answer({ id, type, stream_id, subject, sender_id, sender_full_name }) {
  const to = type === 'stream' ? { type: 'channel', to: stream_id, topic: subject } : { type: 'direct', to: `[${sender_id}]` };
  const content = `Hello @**${sender_full_name}**, what can I do for you?`;
  await call('POST', '/messages', { ...to, content }, { 'Idempotency-Key': `answer to ${id}` });
}

const { user_id } = await call('GET', '/users/me');
const { queue_id, last_event_id } = await call('POST', '/register', { event_types: '["message"]', fetch_event_types: '[]' });
console.log('listening');
for (let last = last_event_id; ; ) {
  const { events } = await call('GET', '/events', { queue_id, last_event_id: last });
  for (const { id, type, message, flags } of events) {
    if (type === 'message' && flags.includes('mentioned') && message.sender_id !== user_id) await answer(message);
    last = id; // The next request acknowledges only events that were handled.
  }
}
