import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { tallyMessages } from '../bench/backlog.ts';
import { fillHistory } from '../bench/history.ts';
import { subscribe } from '../bench/sends.ts';
import type { Json } from '../helpers/http.ts';
import { type DemoService, makeNeighbour, makeOrganisation, type OtherOrganisation, startDemo } from './demo.ts';
import { addUp, type Broken, gapOf } from './felt.ts';
import {
  brokenBy,
  compareSent,
  delaysOf,
  faredIn,
  ms,
  Neighbours,
  p95Of,
  Sender,
  type Spell,
  toldOf,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some, without } from './outcome.ts';
import { Client } from './requests.ts';
import { openDatabase, withDatabase } from './truth.ts';

const SEARCHERS = 12;
/** As clients ask for them. */
const PAGE = 50;
/** How long somebody looks at a page: together some fifteen searches a second, which leaves the two cores something. */
const PAUSE_MS = 750;
/** Of whom has few messages, and how often is looked there. */
const FEW = 5;
const FEW_PAUSE_MS = 200;
/** Two words that all messages have which `fillHistory` makes, and one that nobody wrote. */
const [COMMON, ANOTHER, NOWHERE] = ['organization', 'people', 'xylophone'];

/** Where is searched, and what is to be seen of it. */
interface Ground {
  readonly realmId: number;
  /** The channels that are subscribed to. */
  readonly channelIds: readonly number[];
}

/** A search by one person, page after page, from a message on to the oldest one. */
class Walk {
  readonly ground: Ground;
  readonly words: readonly string[];
  /** In all public channels, and not only in what was received. */
  readonly isPublic: boolean;
  readonly from: number | undefined;
  readonly ids: number[] = [];
  isOver = false;

  constructor(
    ground: Ground,
    { words, isPublic, from }: { words: readonly string[]; isPublic: boolean; from?: number | undefined },
  ) {
    this.ground = ground;
    this.words = words;
    this.isPublic = isPublic;
    this.from = from;
  }

  /** What is asked for next. */
  get parameters(): Readonly<Record<string, unknown>> {
    const search = { operator: 'search', operand: this.words.join(' ') };
    return {
      ...{ anchor: String(this.ids.at(-1) ?? this.from ?? 'newest'), include_anchor: this.ids.length === 0 },
      ...{ num_before: PAGE, num_after: 0 },
      narrow: this.isPublic ? [{ operator: 'channels', operand: 'public' }, search] : [search],
    };
  }

  /** @returns What is wrong with the page. */
  take({ messages, found_oldest }: Json): string[] {
    this.ids.push(...(messages as { id: number }[]).map(({ id }) => id).reverse());
    this.isOver = found_oldest;
    const isEmpty = messages.length === 0 && !this.isOver;
    return isEmpty ? [`a page of "${this.words.join(' ')}" was empty, and the search not over`] : [];
  }

  /** What of it is not as a plain look at all messages has it. */
  async compare(db: pg.Client): Promise<Broken & { readonly made: number }> {
    const { ground, words, isPublic, from, ids, isOver } = this;
    const { rows } = await db.query<{ id: number }>(
      `SELECT id::float8 AS id FROM message
       WHERE realm_id = $1 AND ($2 OR channel_id = ANY($3::int[])) AND id BETWEEN $4 AND $5
         AND topic || ' ' || content ~ ALL($6::text[])`,
      [
        ...[ground.realmId, isPublic, ground.channelIds],
        ...[isOver ? 0 : (ids.at(-1) ?? from), from ?? Number.MAX_SAFE_INTEGER],
        words.map((word) => `\\m${word}\\M`),
      ],
    );
    const [found, due] = [new Set(ids), new Set(rows.map(({ id }) => id))];
    return {
      lost: without(due, found).length,
      repeated: ids.length - found.size,
      outOfOrder: ids.filter((id, i) => id > (ids[i - 1] ?? Number.POSITIVE_INFINITY)).length,
      refusedButDone: 0,
      made: without(found, due).length,
    };
  }
}

/** Somebody who searches for several things in turn, a page each time, and for each anew when it is over. */
class Searcher {
  readonly #client: Client;
  readonly #begin: readonly (() => Walk)[];
  readonly #current: Walk[];
  readonly walks: Walk[] = [];
  readonly failures: string[] = [];
  /** How long each took, in milliseconds. */
  took: number[] = [];
  #turn = 0;

  /** @param begin Each begins a search. */
  constructor(client: Client, begin: readonly (() => Walk)[]) {
    this.#client = client;
    this.#begin = begin;
    this.#current = begin.map((one) => one());
    this.walks.push(...this.#current);
  }

  async search(): Promise<void> {
    const at = this.#turn++ % this.#begin.length;
    let walk = this.#current[at] as Walk;
    if (walk.isOver) {
      walk = (this.#begin[at] as () => Walk)();
      this.#current[at] = walk;
      this.walks.push(walk);
    }
    const body = await this.#get(walk.parameters);
    if (body !== undefined) this.failures.push(...walk.take(body));
  }

  /** As many messages, of which none is looked for. */
  async read(channelId: number): Promise<void> {
    const narrow = [{ operator: 'channel', operand: channelId }];
    await this.#get({ anchor: 'newest', num_before: PAGE, num_after: 0, narrow });
  }

  async #get(parameters: Readonly<Record<string, unknown>>): Promise<Json> {
    const startedAt = performance.now();
    try {
      const { status, body } = await this.#client.rest('GET', '/messages', parameters);
      this.took.push(performance.now() - startedAt);
      if (status === 200) return body;
      this.failures.push(`${status} ${JSON.stringify(body)}`);
    } catch (error) {
      this.failures.push(String(error));
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** Has all of them act again and again, for so long. */
async function atPace(
  searchers: readonly Searcher[],
  { seconds, pauseMs }: { seconds: number; pauseMs: number },
  act: (searcher: Searcher) => Promise<void>,
): Promise<Spell> {
  for (const searcher of searchers) searcher.took = [];
  const since = performance.now();
  const endsAt = since + seconds * 1_000;
  await Promise.all(
    searchers.map(async (searcher, i) => {
      await sleep((i * pauseMs) / searchers.length);
      while (performance.now() < endsAt) {
        await act(searcher);
        await sleep(pauseMs);
      }
    }),
  );
  const took = searchers.flatMap((searcher) => searcher.took);
  return { took, gap: Math.max(...took), since, until: performance.now() };
}

/** Those who search in the organisation of many messages: half of them what they received, the others what is public. */
async function makeSearchers(
  url: string,
  db: pg.Client,
  { realmId, owner, members }: OtherOrganisation,
  size: number,
): Promise<{ readonly searchers: readonly Searcher[]; readonly channelId: number }> {
  const all = await fillHistory(db, { realmId, senderId: owner.userId, size });
  const channelIds = all.slice(0, all.length / 2);
  const userIds = members.map(({ userId }) => userId);
  for (const channelId of channelIds) await subscribe({ db }, { realmId, channelId }, userIds);
  await tallyMessages(db, realmId);
  await db.query('VACUUM ANALYZE');
  const { rows } = await db.query<{ low: number; high: number }>(
    'SELECT min(id)::float8 AS low, max(id)::float8 AS high FROM message WHERE realm_id = $1',
    [realmId],
  );
  const [{ low, high }] = rows as [(typeof rows)[number]];
  const searchers = members.map((person, i) => {
    const isPublic = i % 2 === 0;
    // Each somewhere else: what two look at, the database has at hand.
    const from = high - Math.floor(((high - low) * i) / members.length);
    const begin = [
      { words: [COMMON], from },
      { words: [COMMON, ANOTHER], from },
      // One topic of each channel, near enough to the oldest message to come to an end.
      { words: [COMMON, String(i + 1)], from: low + Math.floor((high - low) / 12) },
      { words: [NOWHERE] },
    ];
    const ground = { realmId, channelIds };
    return new Searcher(
      new Client(url, person),
      begin.map((what) => () => new Walk(ground, { isPublic, ...what })),
    );
  });
  return { searchers, channelId: channelIds[0] ?? 0 };
}

/** Somebody who searches for the same in an organisation of few messages. */
async function makeModest(url: string, { realmId, owner }: OtherOrganisation): Promise<Searcher> {
  const client = new Client(url, owner);
  await client.ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'few' }] });
  const { stream_id } = await client.ask('GET', '/get_stream_id', { stream: 'few' });
  for (let i = 0; i < FEW; i++) {
    const content = `The ${COMMON} has ${i} ${ANOTHER}`;
    await client.ask('POST', '/messages', { type: 'channel', to: stream_id, topic: 'few', content });
  }
  const ground = { realmId, channelIds: [stream_id] };
  return new Searcher(
    client,
    [[COMMON], [COMMON, ANOTHER], [NOWHERE]].map((words) => () => new Walk(ground, { words, isPublic: false })),
  );
}

/** What all that was found is, beside a plain look at all messages. */
async function compareWalks(service: DemoService, walks: readonly Walk[]) {
  const db = await openDatabase(service);
  const compared: Awaited<ReturnType<Walk['compare']>>[] = [];
  for (const walk of walks) compared.push(await walk.compare(db));
  await db.end();
  const { lost, repeated, outOfOrder, refusedButDone } = addUp(compared);
  const made = compared.reduce((sum, one) => sum + one.made, 0);
  return {
    broken: { lost, repeated, outOfOrder, refusedButDone },
    violations: [
      ...(lost > 0 ? [`${lost} messages that are to be found were on no page`] : []),
      ...(repeated > 0 ? [`${repeated} messages were on a page more than once`] : []),
      ...(outOfOrder > 0 ? [`${outOfOrder} messages came after an older one`] : []),
      ...(made > 0 ? [`${made} messages were on a page, and are not to be found`] : []),
    ],
  };
}

/**
 * Twelve at once search an organisation of very many messages, for words that all of these have and for one that none has:
 * all are answered, all pages together have what there is, and others on the node do not notice, who send, or search among few.
 *
 * @param size How many messages there are.
 */
export async function searchTrial({
  databaseServer,
  seconds,
  size,
  isTimed,
}: WatchedTrial & { readonly size: number }): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { server } = service;
  const { url } = server;
  const db = await openDatabase(service);
  const large = await makeOrganisation(server, SEARCHERS);
  const { searchers, channelId } = await makeSearchers(url, db, large, size);
  await db.end();
  const modest = await makeModest(url, await makeOrganisation(server, 0));
  const neighbours = await Neighbours.start(url, await makeNeighbour(server));
  const sender = await Sender.start(url, large.owner);
  let isOver = false;
  const sending = sender.until(() => isOver, { pauseMs: PAUSE_MS });
  const meanwhile = async (act: (searcher: Searcher) => Promise<void>) => {
    const spells = Promise.all([
      atPace(searchers, { seconds, pauseMs: PAUSE_MS }, act),
      atPace([modest], { seconds, pauseMs: FEW_PAUSE_MS }, (one) => one.search()),
    ]);
    const spell = await neighbours.during(spells);
    const [hit, few] = await spells;
    return { hit, few, spell };
  };
  const reading = await meanwhile((searcher) => searcher.read(channelId));
  const since = performance.now();
  const searching = await meanwhile((searcher) => searcher.search());
  isOver = true;
  await sending;
  for (const one of [...searchers, modest, sender, neighbours]) one.close();
  const everybody = [...searchers, modest];
  const walks = everybody.flatMap((searcher) => searcher.walks);
  const found = await compareWalks(service, walks);
  const sent = await withDatabase(service, (query) => compareSent(query, [sender, ...neighbours.senders]));
  const fared = faredIn([reading.spell], [searching.spell]);
  const few = faredIn([reading.few], [searching.few]);
  const failures = everybody.flatMap((searcher) => searcher.failures);
  const fault = `${SEARCHERS} who search among ${size.toLocaleString('en')} messages`;
  return {
    trial: fault,
    facts: {
      searches: `${searching.hit.took.length}, after ${reading.hit.took.length} plain reads`,
      'p95 of a search': `${ms(p95Of([searching.hit]))}, the longest ${ms(searching.hit.gap)}, of a plain read ${ms(p95Of([reading.hit]))}`,
      'messages found': walks.reduce((sum, { ids }) => sum + ids.length, 0),
      'searches that came to their end': `${walks.filter(({ isOver }) => isOver).length}, ${walks.filter(({ isOver, ids }) => isOver && ids.length > PAGE).length} of them of several pages`,
      'p95 of a search among few': `${ms(few.before)} before, ${ms(few.meanwhile)} meanwhile`,
      ...toldOf(neighbours, fared),
    },
    violations: [
      ...(failures.length > 0 ? [`who searched was told ${some(failures)}`] : []),
      ...(sender.failures.length > 0 ? [`who sent there was told ${some(sender.failures)}`] : []),
      ...found.violations,
      ...brokenBy(sent),
      ...delaysOf('searches among few', few, { isTimed }),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [
      {
        fault,
        ...addUp([found.broken, sent]),
        gap: gapOf({ writers: [sender] }, since),
        neighbours: fared,
      },
    ],
  };
}
