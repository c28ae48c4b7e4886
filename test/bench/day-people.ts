// The load generator of the simulated day: all people with their clients, in a separate process whose CPU time is not counted.
import { setTimeout as sleep } from 'node:timers/promises';
import { NamedCounters } from '../faults/outcome.ts';
import { type Random, seeded } from '../faults/random.ts';
import { DayPerson, deliveries, type PersonInput, type Place, timeMark } from './day-clients.ts';
import {
  ACTIONS,
  type Action,
  assumed,
  drawSearch,
  drawText,
  drawTopic,
  type Plan,
  type PlannedPerson,
  pickChannel,
  ratesOf,
  zipfPicker,
} from './day-model.ts';
import { cpuSeconds, percentile } from './measure.ts';
import { inBatches } from './subscribers.ts';
import { work } from './workers.ts';

/** The organization and its people, in the order of the plan. */
export interface DaySetup {
  readonly plan: Plan;
  readonly people: readonly PersonInput[];
  readonly channelIds: readonly number[];
  readonly host: string;
  readonly password: string;
  readonly presenceVersion: number;
  readonly seed: number;
}

/** Durations of the actions of one kind, in milliseconds. */
export interface ActionFigures {
  readonly count: number;
  readonly failed: number;
  readonly p50: number;
  readonly p95: number;
}

/** Figures of a part of the day. */
export interface PartFigures {
  readonly seconds: number;
  readonly actions: Readonly<Record<string, ActionFigures>>;
  /** Number of actions that were begun, of those that were unanswered at the end, and of those that were never answered. */
  readonly planned: number;
  readonly backlog: number;
  readonly unanswered: number;
  readonly failures: readonly string[];
  /** Reasons for which clients had to open their connection for events again. */
  readonly interruptions: readonly string[];
  readonly deliveries: number;
  /** Time from a send to its delivery to a chat page, in milliseconds. */
  readonly delivery: ActionFigures;
  readonly cpuSeconds: number;
}

/** Interval at which due actions are begun, in milliseconds. */
const TICK_MS = 4;
/** Time that unanswered actions have after the end of a part of the day, in milliseconds. */
const PATIENCE_MS = 10_000;
/** Maximum number of unanswered actions. If there are more, the machine is overloaded, and no further actions begin. */
const MOST_UNANSWERED = 4_000;
/** Part of the messages that contain the time at which they were sent. */
const MARKED = 0.1;
/** Share of messages that mention someone, and share of reads that read a conversation instead of a topic. */
const [MENTIONING, READING_DIRECT] = [0.06, 0.4];
/** Number of the most recent readers, from whom the people who add reactions are drawn. */
const MOST_READERS = 200;
const EMOJI = ['+1', 'tada', 'heart', 'eyes', 'check'];

let setup: DaySetup;
let random: Random;
let people: DayPerson[] = [];
let online: number[] = [];
/** People who use a phone. */
let phones: DayPerson[] = [];
/** Messages of people whose client receives their ids, which were not edited. */
let sent: { readonly person: DayPerson; readonly plan: PlannedPerson; readonly id: number }[] = [];
/** People who read messages most recently, in the order of their reads. */
let readers: DayPerson[] = [];

const pickMate = zipfPicker(10);
const oneOf = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];

/** Durations and failures of the actions of a part of the day. */
class Figures {
  readonly #took = new Map<string, number[]>();
  readonly #failed = new Map<string, number>();
  readonly #failures = new NamedCounters();
  readonly #cpuBefore = cpuSeconds();
  planned = 0;
  unanswered = 0;

  constructor() {
    deliveries.count = 0;
    deliveries.delays = [];
    deliveries.interruptions = new NamedCounters();
  }

  /** Runs an action that was due at `dueAt`, and records its duration from then on. */
  async run(name: string, dueAt: number, act: () => Promise<unknown>): Promise<void> {
    this.planned++;
    this.unanswered++;
    try {
      const measured = await act();
      this.note(name, typeof measured === 'number' ? measured : performance.now() - dueAt);
    } catch (error) {
      this.#failed.set(name, (this.#failed.get(name) ?? 0) + 1);
      this.#failures.add(`${name}: ${error instanceof Error ? error.message.slice(0, 200) : error}`);
    } finally {
      this.unanswered--;
    }
  }

  note(name: string, ms: number): void {
    const took = this.#took.get(name) ?? [];
    took.push(ms);
    this.#took.set(name, took);
  }

  /** Waits until all actions are answered, and returns the figures. @param seconds Duration of the part of the day. */
  async end(seconds: number): Promise<PartFigures> {
    const [counted, cpu, backlog] = [deliveries.count, cpuSeconds() - this.#cpuBefore, this.unanswered];
    const deadline = performance.now() + PATIENCE_MS;
    while (this.unanswered > 0 && performance.now() < deadline) await sleep(20);
    const names = new Set([...this.#took.keys(), ...this.#failed.keys()]);
    return {
      ...{ seconds, planned: this.planned, backlog, unanswered: this.unanswered },
      ...{ failures: this.#failures.lines.slice(0, 10), interruptions: deliveries.interruptions.lines.slice(0, 5) },
      actions: Object.fromEntries(
        [...names].map((name) => [name, figuresOf(this.#took.get(name) ?? [], this.#failed.get(name))]),
      ),
      deliveries: counted,
      delivery: figuresOf(deliveries.delays),
      cpuSeconds: cpu,
    };
  }
}

const figuresOf = (took: readonly number[], failed = 0): ActionFigures => ({
  ...{ count: took.length, failed },
  ...{ p50: percentile(took, 50), p95: percentile(took, 95) },
});

/** Draws a person who is online, with the person's plan. */
function drawPerson(): { person: DayPerson; plan: PlannedPerson } {
  const index = oneOf(online) as number;
  return { person: people[index] as DayPerson, plan: setup.plan.people[index] as PlannedPerson };
}

const drawChannel = (plan: PlannedPerson): Place => ({
  channelId: setup.channelIds[pickChannel(plan, random)] as number,
  topic: drawTopic(random),
});

function drawMates({ mates }: PlannedPerson, count: number): Place {
  const chosen = new Set<number>();
  while (chosen.size < Math.min(count, mates.length))
    chosen.add(mates[Math.min(pickMate(random), mates.length - 1)] as number);
  return { to: [...chosen].map((mate) => setup.people[mate]?.id ?? 0) };
}

/** Draws the content of a message. */
function drawContent({ mates }: PlannedPerson): string {
  const mention = random() < MENTIONING && mates.length > 0 ? `@**Person ${oneOf(mates)}** ` : '';
  return `${mention}${drawText(random)}${random() < MARKED ? timeMark() : ''}`;
}

async function send(person: DayPerson, plan: PlannedPerson, place: Place): Promise<void> {
  const id = await person.send(place, drawContent(plan));
  if (id !== undefined) sent.push({ person, plan, id });
}

/**
 * Functions that do the actions. Undefined: the action is impossible now. A function that resolves with a number has measured its
 * duration.
 */
const ACTS: Readonly<Record<Action, (figures: Figures, speed: number) => (() => Promise<unknown>) | undefined>> = {
  'send to a channel': () => {
    const { person, plan } = drawPerson();
    return () => send(person, plan, drawChannel(plan));
  },
  'send to a person': () => {
    const { person, plan } = drawPerson();
    return () => send(person, plan, drawMates(plan, 1));
  },
  'send to a group': () => {
    const { person, plan } = drawPerson();
    return () => send(person, plan, drawMates(plan, 2 + Math.floor(random() * 3)));
  },
  announce: () => {
    const { person, plan } = drawPerson();
    return () => send(person, plan, { channelId: setup.channelIds[0] as number, topic: drawTopic(random) });
  },
  typing: () => {
    const { person, plan } = drawPerson();
    const place = random() < assumed('direct') ? drawMates(plan, 1) : drawChannel(plan);
    return () => person.typing(place, random() < 0.5);
  },
  read: (figures) => {
    const { person, plan } = drawPerson();
    return async () => {
      const startedAt = performance.now();
      const unread = await person.read(random() < READING_DIRECT ? drawMates(plan, 1) : drawChannel(plan));
      const took = performance.now() - startedAt;
      readers = [...readers.slice(-MOST_READERS), person];
      if (unread.length > 0) void figures.run('mark as read', performance.now(), () => person.markRead(unread));
      return took;
    };
  },
  search: () => {
    const { person } = drawPerson();
    return () => person.search(drawSearch(random));
  },
  react: () => {
    const person = oneOf(readers);
    const messageId = oneOf(person?.seen ?? []);
    if (person === undefined || messageId === undefined) return undefined;
    return () => ignoring('REACTION_ALREADY_EXISTS', person.react(messageId, oneOf(EMOJI) as string));
  },
  edit: () => {
    const [message] = sent.splice(Math.floor(random() * sent.length), 1);
    if (message === undefined) return undefined;
    return () => message.person.edit(message.id, drawContent(message.plan));
  },
  presence: () => {
    const { person } = drawPerson();
    return () => person.presence();
  },
  reconnect: (_, speed) => {
    const { person } = drawPerson();
    return async () => {
      person.disconnect();
      await sleep(1_000 / speed);
      const startedAt = performance.now();
      await person.connect();
      return performance.now() - startedAt;
    };
  },
  phone: (_, speed) => {
    const person = oneOf(phones);
    if (person === undefined || person.isOnPhone) return undefined;
    return () => person.lookAtPhone((1_000 * assumed('phoneSeconds')) / speed);
  },
};

/** Waits for an action, and ignores its refusal with a given code. */
const ignoring = (code: string, work: Promise<unknown>) =>
  work.catch((error: unknown) => {
    if (!String(error).includes(code)) throw error;
  });

/** Draws the time until the next of actions that occur `perSecond` times a second on average, in milliseconds. */
const drawPause = (perSecond: number) => (-Math.log(1 - random()) / perSecond) * 1_000;

export const tasks = {
  prepare(input: DaySetup): void {
    setup = input;
    random = seeded(input.seed);
    people = input.people.map((person) => new DayPerson(person, input));
    phones = people.filter((person) => person.input.phoneQueueId !== undefined);
    [online, sent, readers] = [[], [], []];
  },

  /** Connects the desktop clients of all people who have a queue. */
  async connect(): Promise<void> {
    const indexes = people.flatMap(({ input }, index) => (input.queueId === undefined ? [] : [index]));
    await inBatches(indexes, async (index) => people[index]?.connect());
    online.push(...indexes);
  },

  /** Measures a time in which nobody acts. */
  async rest({ seconds }: { seconds: number }): Promise<PartFigures> {
    const figures = new Figures();
    await sleep(seconds * 1_000);
    return figures.end(seconds);
  },

  /** Signs in people who have no queue, at even intervals. @param indexes The people. */
  async signIns({ indexes, seconds }: { indexes: readonly number[]; seconds: number }): Promise<PartFigures> {
    const figures = new Figures();
    const startedAt = performance.now();
    for (const [i, index] of indexes.entries()) {
      const dueAt = startedAt + (i * seconds * 1_000) / indexes.length;
      await sleep(Math.max(0, dueAt - performance.now()));
      const person = people[index] as DayPerson;
      const password = random() < assumed('passwords') ? setup.password : undefined;
      const name = person.input.kind === 'poll' ? 'sign in: REST' : 'sign in: page';
      void figures.run(password === undefined ? name : 'sign in: password', dueAt, () => person.signIn(password));
    }
    await sleep(Math.max(0, startedAt + seconds * 1_000 - performance.now()));
    online.push(...indexes.filter((index) => people[index]?.isOnline));
    return figures.end(seconds);
  },

  /** Does all actions of people at work but those in `without`, `speed` times as often as in the busiest hour. */
  async work({
    seconds,
    speed,
    without,
  }: {
    seconds: number;
    speed: number;
    without: readonly Action[];
  }): Promise<PartFigures> {
    const figures = new Figures();
    const startedAt = performance.now();
    const endAt = startedAt + seconds * 1_000;
    const rates = ACTIONS.filter((action) => !without.includes(action)).map((action) => {
      const perSecond = ratesOf(people.length)[action] * speed;
      return { action, perSecond, next: startedAt + drawPause(perSecond) };
    });
    while (performance.now() < endAt) {
      for (const rate of rates) {
        for (; rate.next < performance.now() && rate.next < endAt; rate.next += drawPause(rate.perSecond)) {
          if (figures.unanswered >= MOST_UNANSWERED) continue;
          const act = ACTS[rate.action](figures, speed);
          if (act !== undefined) void figures.run(rate.action, rate.next, act);
        }
      }
      await sleep(TICK_MS);
    }
    return figures.end(seconds);
  },

  close(): void {
    for (const person of people) person.disconnect();
  },
};

work(tasks);
