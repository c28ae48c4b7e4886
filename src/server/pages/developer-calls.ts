import { shellWord } from '../../api/html.ts';
import { takeOne } from './calls/call.ts';

/**
 * Returns the example calls of the developers' page. Each call runs unchanged in bash, zsh and sh, and does not depend on
 * earlier calls.
 *
 * @param credentials API email and key, separated by a colon.
 */
export function callsOf(origin: string, credentials: string) {
  const login = shellWord(credentials);
  const api = (path: string) => shellWord(`${origin}/api/v1${path}`);
  const curl = `curl -u ${login}`;
  const graphql = (query: string, more: object = {}) =>
    `${curl} ${shellWord(`${origin}/graphql`)} -H 'Content-Type: application/json' -d ${shellWord(JSON.stringify({ query, ...more }))}`;
  const send = `${curl} ${api('/messages')} -d type=channel -d to=general -d topic=hello -d content=Hello`;
  const queue = `QUEUE=$(curl -s -u ${login} ${api('/register')} -d 'event_types=["message"]' -d 'fetch_event_types=[]' | ${takeOne('queue_id')})`;
  return {
    graphql: [
      graphql('{ viewer { fullName role } }'),
      graphql('{ messages(last: 3) { nodes { sender { fullName } topicName content } } }'),
      graphql(SEND, {
        variables: {
          input: { to: { topic: { named: { channel: { name: 'general' }, name: 'hello' } } }, content: 'Hello' },
        },
      }),
    ].join('\n'),
    rest: [
      `${curl} ${api('/users/me')}`,
      `${curl} ${api('/messages?anchor=newest&num_before=3&num_after=0')}`,
      send,
    ].join('\n'),
    events: [queue, send, `${curl} "${origin}/api/v1/events?queue_id=$QUEUE&last_event_id=-1"`].join('\n'),
    webSocket: webSocketCall(origin, credentials),
    serverSentEvents: [
      queue,
      `curl -N --max-time 5 -u ${login} ${shellWord(`${origin}/graphql`)} -H 'Accept: text/event-stream' \\`,
      `  -H 'Content-Type: application/json' -d '{"query": "subscription { events(queueId: \\"'$QUEUE'\\") { position type } }"}'`,
    ].join('\n'),
    idempotency: ['KEY="Idempotency-Key: hello-$$-$(date +%s)"', `${send} -H "$KEY"`, `${send} -H "$KEY"`].join('\n'),
  };
}

const SEND =
  'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessagePayload { sentMessage { databaseId } } ' +
  '... on ServiceError { code message } } }';

/**
 * Returns an example in JavaScript that subscribes to events over a WebSocket. It runs in a browser or in Node, without
 * dependencies.
 */
function webSocketCall(origin: string, credentials: string): string {
  return `const socket = new WebSocket('${origin.replace(/^http/, 'ws')}/graphql', 'graphql-transport-ws');
const tell = (message) => socket.send(JSON.stringify(message));
const run = (id, query) => tell({ id, type: 'subscribe', payload: { query } });
const authorization = 'Basic ' + btoa('${credentials}');
socket.onopen = () => tell({ type: 'connection_init', payload: { authorization } });
socket.onmessage = ({ data }) => {
  const { type, id, payload } = JSON.parse(data);
  if (type === 'ping') tell({ type: 'pong', payload });
  if (type === 'connection_ack')
    run('queue', 'mutation { registerEventQueue(input: {}) { ... on RegisterEventQueuePayload { queueId } } }');
  if (type === 'next' && id === 'queue')
    run('events', \`subscription { events(queueId: "\${payload.data.registerEventQueue.queueId}")
      { position type ... on MessageSentEvent { message { content } } } }\`);
  if (type === 'next' && id === 'events') console.log(JSON.stringify(payload.data.events));
};`;
}
