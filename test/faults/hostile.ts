import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_PAGE_BYTES } from '../../src/messages/reply-size.ts';
import { TOTALS } from '../../src/platform/totals.ts';
import type { Json } from '../helpers/http.ts';
import { METRICS } from '../helpers/process.ts';
import { makeNeighbour, type Person, personOf, startDemo } from './demo.ts';
import { readMetrics } from './metrics.ts';
import { Neighbours, p95Of } from './neighbours.ts';
import { NamedCounters, type Outcome, some } from './outcome.ts';
import { between, type Random, seeded } from './random.ts';
import { Client, type ClientReply } from './requests.ts';
import { withDatabase } from './truth.ts';

/** Number of messages in the topic that the hostile member moves repeatedly. */
const CROWD = 120;
/** Length of the hostile member's long message, in code points. Its HTML is a hundred times as long. */
const LONG = 9_990;
const EMOJI = ['octopus', 'tada', 'heart', 'rocket', 'sushi', 'cat'];
const READ_EVERY_MS = 1_500;
/** Largest accepted response, in bytes. Quotation marks and line breaks take two bytes in JSON. */
const MOST_BYTES = 1.5 * MAX_PAGE_BYTES;
/**
 * Largest accepted resident memory of the server, in bytes. A process with Node's default heap limit on a small machine uses as
 * much.
 */
const MOST_RESIDENT_BYTES = 1.5 * 2 ** 30;
/**
 * Duration in milliseconds. A slowdown of the other organization is a violation only if the p95 of its requests exceeds this.
 */
const FELT_MS = 100;

interface HostileTrial {
  readonly databaseServer: string | undefined;
  readonly minutes: number;
  readonly seed: number;
  /** Whether delays of the other organization are checked against their limits. */
  readonly isTimed: boolean;
}

/** A hostile member with a bot, who acts as often as the default rate limits permit. */
class Hostile {
  readonly #clients: readonly Client[];
  readonly #random: Random;
  readonly #channelIds: readonly number[];
  readonly acts = new NamedCounters();
  readonly refusals = new NamedCounters();
  readonly failures: string[] = [];
  /** Number of acknowledged edits that changed the content of a message. */
  edits = 0;
  longId = 0;
  #crowdId = 0;
  #turn = 0;

  constructor(clients: readonly Client[], random: Random, channelIds: readonly number[]) {
    this.#clients = clients;
    this.#random = random;
    this.#channelIds = channelIds;
  }

  /** Sends the messages that are edited and moved later, as fast as the limits permit. */
  async prepare(): Promise<void> {
    const to = this.#channelIds[0];
    const send = (topic: string, content: string) => {
      const message = { type: 'channel', to, topic, content };
      return this.#act('send', (client) => client.rest('POST', '/messages', message));
    };
    this.longId = (await send('long', '😀'.repeat(LONG)))?.id;
    for (let i = 0; i < CROWD; i++) this.#crowdId = (await send('crowd', `message ${i}`))?.id ?? this.#crowdId;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      this.#turn++;
      await this.#next();
    }
  }

  #next(): Promise<Json> {
    const quiet = { send_notification_to_new_thread: false };
    const patch = (id: number, fields: object) => (client: Client) =>
      client.rest('PATCH', `/messages/${id}`, { ...quiet, ...fields });
    const text = `${'😀'.repeat(LONG - 10)}${this.#turn}`;
    const acts: readonly (() => Promise<Json>)[] = [
      () => this.#edit('edit', patch(this.longId, { content: text })),
      () => this.#edit('edit and move', patch(this.longId, { content: text, topic: `long ${this.#turn}` })),
      () => this.#act('move', patch(this.longId, { topic: `moved ${this.#turn}` })),
      () =>
        this.#act(
          'rename a topic',
          patch(this.#crowdId, { topic: `crowd ${this.#turn}`, propagate_mode: 'change_all' }),
        ),
      () =>
        this.#act(
          'move a topic',
          patch(this.#crowdId, {
            stream_id: this.#channelIds[this.#turn % this.#channelIds.length],
            propagate_mode: 'change_all',
          }),
        ),
      () => this.#act('react', (client) => client.rest(...this.#reaction('POST'))),
      () => this.#act('take a reaction back', (client) => client.rest(...this.#reaction('DELETE'))),
      () =>
        this.#act('change the own name', (client) =>
          client.rest('PATCH', '/settings', { full_name: `Hostile ${this.#turn}` }),
        ),
    ];
    return acts[between(this.#random, 0, acts.length)]?.() ?? Promise.resolve(undefined);
  }

  #reaction(method: 'POST' | 'DELETE') {
    const emoji_name = EMOJI[between(this.#random, 0, EMOJI.length)];
    return [method, `/messages/${this.longId}/reactions`, { emoji_name }] as const;
  }

  async #edit(name: string, ask: (client: Client) => ReturnType<Client['rest']>): Promise<Json> {
    const body = await this.#act(name, ask, 0);
    if (body !== undefined) this.edits++;
    return body;
  }

  /**
   * Makes one request and counts its result.
   *
   * @param index Index of the client that sends the request. 0 is the member: the bot cannot edit its owner's message.
   * @returns The response body. Undefined if the request was refused.
   */
  async #act(name: string, ask: (client: Client) => ReturnType<Client['rest']>, index?: number): Promise<Json> {
    const isOfOwner = index === 0 || name === 'send';
    const client = this.#clients[isOfOwner ? 0 : between(this.#random, 0, this.#clients.length)];
    if (client === undefined) return undefined;
    const { status, body } = await ask(client);
    if (status === 200) {
      this.acts.add(name);
      return body;
    }
    if (status === 429) {
      this.refusals.add('429');
      await sleep(Math.min(5_000, 1000 * (body?.['retry-after'] ?? 1)));
      return name === 'send' ? this.#act(name, ask, index) : undefined;
    }
    if (status >= 500) this.failures.push(`${name}: ${status} ${JSON.stringify(body)}`);
    else this.refusals.add(`${status} ${body?.msg}`);
    return undefined;
  }
}

/** A client that reads the channels in which the hostile member acts, as usual clients do. */
class Reader {
  readonly #client: Client;
  readonly #channelIds: readonly number[];
  readonly violations: string[] = [];
  most = { list: 0, history: 0, graphql: 0, event: 0 };
  /** Number of received events in which the content of a message was edited. */
  edits = 0;

  constructor(client: Client, channelIds: readonly number[]) {
    this.#client = client;
    this.#channelIds = channelIds;
  }

  async readPages(messageId: () => number, isOver: () => boolean): Promise<void> {
    const query = `query ($id: ID!) { node(id: $id) { ... on Message { editHistory(first: 100) { nodes {
      content renderedContent prevContent prevRenderedContent contentHtmlDiff } } } } }`;
    for (let turn = 0; !isOver(); turn++) {
      const narrow = [{ operator: 'channel', operand: this.#channelIds[turn % this.#channelIds.length] }];
      const page = { anchor: 'newest', num_before: 100, num_after: 0, narrow };
      this.#note('list', await this.#client.rest('GET', '/messages', page));
      this.#note('history', await this.#client.rest('GET', `/messages/${messageId()}/history`));
      const id = Buffer.from(`Message:${messageId()}`).toString('base64');
      this.#note('graphql', await this.#client.graphql(query, { id }));
      await sleep(READ_EVERY_MS);
    }
  }

  /** Polls a queue without waiting until `isOver` returns true, and then reads all events that remain in the queue. */
  async listen({ queueId, startId }: { queueId: string; startId: number }, isOver: () => boolean): Promise<void> {
    let last = startId;
    for (;;) {
      const wasOver = isOver();
      const query = { queue_id: queueId, last_event_id: last, dont_block: true };
      const { status, body } = await this.#client.rest('GET', '/events', query);
      if (status === 429) await sleep(1_000);
      else if (status !== 200) {
        this.violations.push(`GET /events: ${status} ${JSON.stringify(body)}`);
        return;
      } else {
        for (const event of body.events) {
          last = event.id;
          this.most.event = Math.max(this.most.event, JSON.stringify(event).length);
          if (event.type === 'update_message' && event.content !== undefined) this.edits++;
        }
        if (wasOver && body.events.length === 0) return;
        if (body.events.length === 0) await sleep(500);
      }
    }
  }

  /**
   * Checks a response by its first 500 bytes. Parsing the whole response would take CPU time in this process, which the clients
   * of the other organization need.
   */
  #note(what: 'list' | 'history' | 'graphql', { status, bytes }: ClientReply): void {
    const beginning = bytes.toString('utf8', 0, 500);
    this.most[what] = Math.max(this.most[what], bytes.length);
    if (status >= 500 || !beginning.startsWith('{')) this.violations.push(`${what}: ${status}`);
    if (beginning.includes('"errors"')) this.violations.push(`${what}: ${beginning.slice(0, 200)}`);
    if (bytes.length > MOST_BYTES) this.violations.push(`${what}: ${bytes.length} bytes in one reply`);
  }
}

/**
 * Lets a hostile member edit, move, react and rename for some minutes, under the default rate limits. Responses and stored
 * versions must stay within their limits, and every edit must send its event. Another organization at the node must not be
 * affected.
 */
export async function hostileTrial({ databaseServer, minutes, seed, isTimed }: HostileTrial): Promise<Outcome> {
  await using service = await startDemo(databaseServer, { ...METRICS.env, RATE_LIMIT_PER_USER: undefined });
  const { server, people } = service;
  const owner = new Client(server.url, personOf(people, 'owner'));
  const member = new Client(server.url, personOf(people, 'member'));
  const channelIds: number[] = [];
  for (const name of ['hostile one', 'hostile two']) {
    const subscribers = people.filter(({ role }) => role !== 'guest').map(({ userId }) => userId);
    channelIds.push((await owner.ask('POST', '/channels/create', { name, subscribers })).id);
  }
  const everyone = await owner
    .ask('GET', '/user_groups')
    .then(({ user_groups }) =>
      (user_groups as { name: string; id: number }[]).find(({ name }) => name === 'role:members'),
    );
  // By default, only moderators can move messages between channels. This setting permits it to members as well.
  await owner.ask('PATCH', '/realm', {
    can_move_messages_between_channels_group: { new: everyone?.id },
    message_content_edit_limit_seconds: '"unlimited"',
    move_messages_between_streams_limit_seconds: '"unlimited"',
    move_messages_within_stream_limit_seconds: '"unlimited"',
  });
  const bot = await member.ask('POST', '/bots', { full_name: 'Hostile bot', short_name: 'hostile' });
  const subscriptions = channelIds.map((_, i) => ({ name: ['hostile one', 'hostile two'][i] }));
  await member.ask('POST', '/users/me/subscriptions', { subscriptions, principals: [bot.user_id] });
  const basic = `Basic ${Buffer.from(`${bot.email}:${bot.api_key}`).toString('base64')}`;
  const botPerson: Person = { role: 'bot', userId: bot.user_id, basic };
  const hostile = new Hostile([member, new Client(server.url, botPerson)], seeded(seed), channelIds);
  const reading = new Client(server.url, personOf(people, 'moderator'));
  const listening = new Client(server.url, personOf(people, 'administrator'));
  const reader = new Reader(reading, channelIds);
  const listener = new Reader(listening, channelIds);
  const neighbours = await Neighbours.start(server.url, await makeNeighbour(server));
  await hostile.prepare();
  const before = await neighbours.during(sleep(isTimed ? 10_000 : 1_000));

  const endsAt = performance.now() + minutes * 60_000;
  const isOver = () => performance.now() > endsAt;
  const queue = await listening.register({ event_types: ['update_message'], apply_markdown: true });
  let resident = 0;
  const watch = async () => {
    while (!isOver()) {
      resident = Math.max(resident, (await readMetrics(server.url)).shown('process_resident_memory_bytes'));
      await sleep(2_000);
    }
  };
  let isDone = false;
  const work = Promise.all([
    hostile.run(isOver).finally(() => {
      isDone = true;
    }),
    reader.readPages(() => hostile.longId, isOver),
    listener.listen(queue, () => isDone),
    watch(),
  ]);
  const meanwhile = await neighbours.during(work);

  const stored = await withDatabase(service, async (query) => {
    const rows = await query(
      `SELECT count(*) FILTER (WHERE prev_content IS NOT NULL)::int AS versions,
              count(*) FILTER (WHERE prev_content IS NULL)::int AS moves,
              COALESCE(sum(octet_length(prev_content) + octet_length(prev_rendered_content)), 0)::float8 AS bytes
       FROM message_edit GROUP BY message_id`,
      [],
    );
    return rows as unknown as { readonly versions: number; readonly moves: number; readonly bytes: number }[];
  });
  const most = (of: 'versions' | 'moves' | 'bytes') => Math.max(0, ...stored.map((row) => row[of]));
  const [p95Before, p95Meanwhile] = [p95Of([before]), p95Of([meanwhile])];
  for (const client of [owner, member, reading, listening]) client.close();
  neighbours.close();
  const isFelt = isTimed && p95Meanwhile > Math.max(FELT_MS, 2 * p95Before);
  const { versions_per_message, versions_per_message_total_bytes } = TOTALS;
  return {
    trial: `a hostile member, ${minutes} minutes`,
    facts: {
      acts: String(hostile.acts),
      refused: String(hostile.refusals),
      'longest replies, bytes': JSON.stringify({ ...reader.most, event: listener.most.event }),
      'largest numbers stored for one message': `${most('versions')} versions, ${most('moves')} moves, ${most('bytes')} bytes`,
      'edits received': `${listener.edits} of ${hostile.edits}`,
      'resident memory, MiB': Math.round(resident / 2 ** 20),
      "neighbours' p95": `${Math.round(p95Before)} ms before, ${Math.round(p95Meanwhile)} ms meanwhile`,
    },
    violations: [
      ...hostile.failures.slice(0, 5),
      ...new Set([...reader.violations, ...listener.violations]),
      // The default rate limits apply to the other organization, too, so its 429 responses are not violations.
      ...neighbours.senders.flatMap(({ failures }) => failures.filter((one) => !one.startsWith('429')).slice(0, 1)),
      ...(most('versions') > versions_per_message.max ? [`${most('versions')} versions of one message`] : []),
      ...(most('bytes') > versions_per_message_total_bytes.max ? [`${most('bytes')} bytes of versions`] : []),
      ...(most('moves') > 100 ? [`${most('moves')} moves of one message`] : []),
      ...(listener.edits !== hostile.edits ? [`${listener.edits} events of ${hostile.edits} edits`] : []),
      ...(listener.most.event > 4_000_000 ? [`an event of ${listener.most.event} bytes`] : []),
      ...(resident > MOST_RESIDENT_BYTES ? [`${some([Math.round(resident / 2 ** 20)])} MiB resident`] : []),
      ...(isFelt ? [`neighbours' p95 was ${Math.round(p95Meanwhile)} ms, ${Math.round(p95Before)} ms before`] : []),
    ],
  };
}
