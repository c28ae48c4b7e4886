// Prints every message, without missing any: node client.mjs http://127.0.0.1:4000 iris@example.com:HER_API_KEY
const [url, login] = process.argv.slice(2);
const authorization = `Basic ${btoa(login)}`;

// Register: one response contains a queue for all events from here on, and the state at that position.
const REGISTER = `mutation { registerEventQueue(input: { eventTypes: [MESSAGE] }) { ... on RegisterEventQueuePayload {
  queueId position query { viewer { fullName } channels(first: 20) { nodes { name } } } } } }`;
const headers = { authorization, 'Content-Type': 'application/json' };
const reply = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: REGISTER }) });
const { queueId, position, query } = (await reply.json()).data.registerEventQueue;
console.log(`${query.viewer.fullName} sees ${query.channels.nodes.map(({ name }) => name).join(', ')}`);

// Subscribe. If the connection breaks, subscribe again after the last position: the queue keeps events meanwhile.
const EVENTS = `subscription ($queueId: String!, $after: LongId) { events(queueId: $queueId, after: $after) {
  position ... on MessageSentEvent { message { sender { fullName } content } } } }`;
let after = position;
function listen() {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const tell = (message) => socket.send(JSON.stringify(message));
  socket.onopen = () => tell({ type: 'connection_init', payload: { authorization } });
  socket.onclose = () => setTimeout(listen, 1000);
  socket.onmessage = ({ data }) => {
    const { type, payload } = JSON.parse(data);
    if (type === 'connection_ack') tell({ id: '1', type: 'subscribe', payload: { query: EVENTS, variables: { queueId, after } } });
    if (type === 'ping') tell({ type: 'pong', payload });
    if (type === 'error') throw new Error(payload[0].message); // The queue expired, unread for ten minutes: start over.
    if (type === 'next') show(payload.data.events);
  };
}
function show({ position, message }) {
  if (position > after && message) console.log(`${message.sender.fullName}: ${message.content}`);
  after = Math.max(after, position);
}
listen();
