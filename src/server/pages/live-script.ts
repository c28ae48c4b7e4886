/** Id of the element with the input fields, which the script reads. */
export const LIVE_FORM = 'live';
/** The transports over which the page shows events. `id` is the id of the list element in which the events appear. */
export const TRANSPORTS = [
  { id: 'websocket', name: 'WebSocket', about: 'graphql-transport-ws, at /graphql' },
  { id: 'sse', name: 'Server-sent events', about: 'text/event-stream, from /graphql' },
  { id: 'poll', name: 'Long poll', about: 'GET /api/v1/events' },
] as const;

/**
 * Script of the developers' page that sends a message, and reads events over three transports. Each transport has its own
 * queue, because a queue has one reader. After a failure, a transport reconnects after a second, from the last position shown.
 */
export const LIVE_SCRIPT = `
const form = document.getElementById('${LIVE_FORM}');
const field = (name) => form.querySelector('[name=' + name + ']').value;
const authorization = () => {
  const bytes = new TextEncoder().encode(field('email') + ':' + field('key'));
  return 'Basic ' + btoa(String.fromCharCode(...bytes));
};
const pause = () => new Promise((resolve) => { setTimeout(resolve, 1000); });
const say = (id, text) => { document.getElementById(id + '-state').textContent = text; };
const EVENTS = 'subscription ($queueId: String!, $after: LongId) { events(queueId: $queueId, after: $after) {' +
  ' position ... on MessageSentEvent { message { content sender { fullName } } } } }';

const ask = async (query, variables) => {
  const answer = await fetch('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', authorization: authorization() },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await answer.json();
  if (errors) throw new Error(errors[0].message);
  const [result] = Object.values(data);
  if (result.code) throw new Error(result.message);
  return result;
};

const register = () => ask('mutation { registerEventQueue(input: { eventTypes: [MESSAGE], idleTimeoutSeconds: 600 }) {' +
  ' ... on RegisterEventQueuePayload { queueId position } ... on ServiceError { code message } } }');

let sentAt = 0;
const show = (queue, id, position, sender, content) => {
  if (position <= queue.after) return;
  queue.after = position;
  if (content === undefined) return;
  const item = document.createElement('li');
  const place = document.createElement('strong');
  place.textContent = 'position ' + position;
  const after = sentAt === 0 ? '' : ' · after ' + Math.round(performance.now() - sentAt) + ' ms';
  const from = document.createElement('span');
  from.textContent = after;
  const text = document.createElement('p');
  text.textContent = sender + ': ' + content;
  item.append(place, from, text);
  const list = document.getElementById(id);
  list.prepend(item);
  while (list.children.length > 5) list.lastChild.remove();
};
const showEvent = (queue, id, { position, message }) =>
  show(queue, id, position, message?.sender?.fullName, message?.content);

const overWebSocket = (queue) => new Promise((resolve) => {
  const socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/graphql', 'graphql-transport-ws');
  const tell = (message) => socket.send(JSON.stringify(message));
  socket.onopen = () => tell({ type: 'connection_init', payload: { authorization: authorization() } });
  socket.onclose = resolve;
  socket.onmessage = ({ data }) => {
    const { type, payload } = JSON.parse(data);
    if (type === 'connection_ack') {
      tell({ id: '1', type: 'subscribe', payload: { query: EVENTS, variables: queue } });
      queue.ready();
    } else if (type === 'ping') tell({ type: 'pong', payload });
    else if (type === 'next') showEvent(queue, 'websocket', payload.data.events);
    else if (type === 'error' || type === 'complete') socket.close();
  };
});

const overServerSentEvents = async (queue) => {
  const answer = await fetch('/graphql', {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'Content-Type': 'application/json', authorization: authorization() },
    body: JSON.stringify({ query: EVENTS, variables: queue }),
  });
  queue.ready();
  let text = '';
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    const frames = (text + part).split('\\n\\n');
    text = frames.pop();
    for (const frame of frames) {
      const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
      const event = data && JSON.parse(data).data?.events;
      if (event) showEvent(queue, 'sse', event);
    }
  }
};

const overLongPoll = async (queue) => {
  queue.ready();
  for (;;) {
    const query = new URLSearchParams({ queue_id: queue.queueId, last_event_id: queue.after });
    const answer = await fetch('/api/v1/events?' + query, { headers: { authorization: authorization() } });
    if (!answer.ok) return;
    const { events } = await answer.json();
    for (const { id, message } of events) show(queue, 'poll', id, message?.sender_full_name, message?.content);
  }
};

const listen = async (id, read) => {
  const { queueId, position } = await register();
  return new Promise((resolve) => {
    const ready = () => { say(id, 'listening'); resolve(); };
    const queue = { queueId, after: position, ready };
    const keep = async () => {
      for (;;) {
        await read(queue).catch(() => {});
        say(id, 'reconnecting');
        await pause();
      }
    };
    keep();
  });
};

let listening;
const start = () => Promise.all([
  listen('websocket', overWebSocket), listen('sse', overServerSentEvents), listen('poll', overLongPoll),
]);
const problem = document.getElementById('live-problem');
form.querySelector('button').addEventListener('click', async () => {
  problem.hidden = true;
  try {
    listening ??= start();
    await listening;
    sentAt = performance.now();
    await ask('mutation ($input: SendMessageInput!) { sendMessage(input: $input) {' +
      ' __typename ... on ServiceError { code message } } }',
      { input: { to: { topic: { named: { channel: { name: field('channel') }, name: 'hello' } } }, content: field('content') } });
  } catch (error) {
    listening = undefined;
    problem.textContent = 'Request failed: ' + error.message;
    problem.hidden = false;
  }
});
`;
