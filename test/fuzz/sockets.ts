import { setTimeout as sleep } from 'node:timers/promises';
import type { GraphQLSchema } from 'graphql';
import type { Person } from '../helpers/person.ts';
import { type Battery, type Input, type Kind, MAX_ANSWER_MS, type Verdict } from './campaign.ts';
import type { Dice } from './dice.ts';
import { ByteSocket, type FrameOptions, frame, OPCODES } from './frames.ts';
import { garbled, judge, readSchema } from './graphql.ts';
import { shown } from './http.ts';
import { isDelicate, OperationMaker } from './operations.ts';
import type { Cast } from './stage.ts';
import { HOSTILE_JSON, nested } from './texts.ts';

/** Close codes that indicate an error of the server. 1006 means that the connection ended without a close frame. */
const FAULTS_OF_SERVER = new Set([1006, 1011, 4500]);
/** Time to wait for the connection to end, in milliseconds, after a frame that the server does not answer. */
const SETTLE_MS = 5;

export function socketKind(): Kind {
  const schema = readSchema();
  return {
    name: 'Sockets, frame by frame',
    lanes: 8,
    batch: 1_000,
    open: (cast) => new SocketBattery(schema, cast),
  };
}

interface Message {
  readonly id?: string;
  readonly type: string;
  readonly payload?: unknown;
}

/** A WebSocket of one sender. It is reused for further inputs until an input ends it. */
class Line {
  readonly person: Person;
  readonly #socket: ByteSocket;
  readonly #waiting = new Map<string, (message: Message | undefined) => void>();
  #count = 0;
  unreadable: string | undefined;

  private constructor(person: Person, socket: ByteSocket, mailbox: { heard: (text: string) => void }) {
    this.person = person;
    this.#socket = socket;
    mailbox.heard = (text) => this.#hear(text);
    void socket.ended.then(() => {
      for (const resolve of this.#waiting.values()) resolve(undefined);
    });
  }

  /** Opens and authenticates a connection. */
  static async open(person: Person): Promise<Line> {
    const mailbox: { heard: (text: string) => void } = { heard: () => {} };
    const socket = await ByteSocket.open(person.url, person.host, (text) => mailbox.heard(text));
    const line = new Line(person, socket, mailbox);
    const acknowledged = line.#answer('connection_ack');
    socket.say({ type: 'connection_init', payload: { authorization: person.authorization } });
    if ((await acknowledged) === undefined) {
      const { code, reason } = line.ending ?? {};
      throw new Error(`${person.name} could not authenticate: closed with ${code} ${reason}`);
    }
    return line;
  }

  get isOpen(): boolean {
    return this.#socket.isOpen;
  }

  get ending() {
    return this.#socket.ending;
  }

  newId(): string {
    return String(++this.#count);
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /**
   * Sends an operation and waits for its answer.
   *
   * @returns The answer. Undefined if the connection ended first or the timeout was reached.
   */
  async ask(id: string, bytes: Buffer): Promise<Message | undefined> {
    const answer = this.#answer(id);
    this.write(bytes);
    return await Promise.race([answer, sleep(4 * MAX_ANSWER_MS, undefined, { ref: false })]);
  }

  end(): void {
    this.#socket.cut();
  }

  #answer(key: string): Promise<Message | undefined> {
    const { promise, resolve } = Promise.withResolvers<Message | undefined>();
    this.#waiting.set(key, resolve);
    return promise;
  }

  #hear(text: string): void {
    let message: Message;
    try {
      message = JSON.parse(text);
    } catch {
      this.unreadable = shown(text);
      return;
    }
    if (message.type === 'ping') {
      this.#socket.say({ type: 'pong', payload: message.payload });
      return;
    }
    const key = message.id ?? message.type;
    this.#waiting.get(key)?.(message);
    this.#waiting.delete(key);
  }
}

class SocketBattery implements Battery {
  readonly #schema: GraphQLSchema;
  readonly #cast: Cast;
  readonly #maker: OperationMaker;
  readonly #lines = new Map<number, Line>();
  readonly #queues: (readonly [Person, string])[] = [];

  constructor(schema: GraphQLSchema, cast: Cast) {
    this.#schema = schema;
    this.#cast = cast;
    this.#maker = new OperationMaker(schema, cast);
  }

  next(dice: Dice, lane: number): Input {
    return dice.weighted<() => Input>([
      [72, () => this.#operation(dice, lane)],
      [6, () => this.#subscription(dice, lane)],
      [9, () => this.#message(dice, lane)],
      [7, () => this.#odd(dice, lane)],
      [6, () => this.#harmless(dice, lane)],
    ])();
  }

  async close(): Promise<void> {
    for (const line of this.#lines.values()) line.end();
    for (const [person, queue] of this.#queues) await person.rest('DELETE', '/events', { queue_id: queue });
  }

  async #line(lane: number, dice: Dice): Promise<Line> {
    const known = this.#lines.get(lane);
    if (known?.isOpen) return known;
    const person = dice.chance(0.6) ? this.#cast.scene.owner : dice.pick(this.#cast.actors);
    const line = await Line.open(person);
    this.#lines.set(lane, line);
    return line;
  }

  /** Returns an input that sends an operation in one or several frames and waits for its result. */
  #operation(dice: Dice, lane: number): Input {
    const made = this.#maker.make(dice);
    const query = dice.chance(0.05) && !isDelicate(made.fields) ? garbled(made.query, dice) : made.query;
    const { variables } = made;
    const what = `operation ${shown(query.replaceAll(/\s+/g, ' '), 400)} ${shown(variables, 200)}`;
    return {
      what,
      send: async () => {
        const sender = made.byVictim
          ? await Line.open(dice.pick(this.#cast.victims.slice(1))).catch(() => undefined)
          : undefined;
        if (made.byVictim && sender === undefined)
          return { label: 'the victim has gone', isSuccess: false, faults: [] };
        const line = sender ?? (await this.#line(lane, dice));
        const id = line.newId();
        const extensions = dice.chance(0.05) ? { idempotencyKey: `key ${dice.int(0, 10_000)}` } : undefined;
        const text = JSON.stringify({ id, type: 'subscribe', payload: { query, variables, extensions } });
        const startedAt = performance.now();
        const answer = await line.ask(id, inPieces(Buffer.from(text), dice));
        const milliseconds = performance.now() - startedAt;
        sender?.end();
        return { milliseconds, ...this.#judge(line, query, variables, answer) };
      },
    };
  }

  #judge(
    line: Line,
    query: string,
    variables: Readonly<Record<string, unknown>>,
    answer: Message | undefined,
  ): Verdict {
    if (answer === undefined) return ended(line, 'no answer');
    if (answer.type === 'complete') return { label: 'complete', isSuccess: true, faults: [] };
    const result = answer.type === 'error' ? { errors: answer.payload } : answer.payload;
    const { queues, ...judged } = judge(this.#schema, query, variables, JSON.stringify(result));
    for (const queue of queues) this.#queues.push([line.person, queue]);
    const faults = line.unreadable === undefined ? judged.faults : [...judged.faults, 'a message is no JSON'];
    return { ...judged, label: `${answer.type} ${judged.label}`, faults };
  }

  /** Returns an input that subscribes to an existing or unknown queue, and ends the subscription after a short time. */
  #subscription(dice: Dice, lane: number): Input {
    const queueId = dice.chance(0.8) ? this.#cast.names.queueId : dice.text();
    const after = dice.pick([-1, 0, 1, 5, 2 ** 53 - 1, -5]);
    const query = `subscription Fuzz($queueId: String!, $after: LongId) { events(queueId: $queueId, after: $after) { __typename position type } }`;
    return {
      what: `subscription after ${after} to ${shown(queueId)}`,
      send: async () => {
        const line = await this.#line(lane, dice);
        const id = line.newId();
        const payload = { query, variables: { queueId, after } };
        line.write(frame(Buffer.from(JSON.stringify({ id, type: 'subscribe', payload }))));
        await sleep(dice.int(0, 20));
        line.write(frame(Buffer.from(JSON.stringify({ id, type: 'complete' }))));
        return ended(line, 'listened');
      },
    };
  }

  /** Returns an input that sends an invalid or nearly valid message of the WebSocket protocol for GraphQL. */
  #message(dice: Dice, lane: number): Input {
    const good = { id: `m${dice.int(0, 99)}`, type: 'subscribe', payload: { query: '{ viewer { id } }' } };
    const text = dice.pick([
      () => JSON.stringify(dice.mutated(good)) ?? '',
      () => JSON.stringify(dice.mutated(good)) ?? '',
      () =>
        JSON.stringify({
          ...good,
          type: dice.pick(['connection_init', 'ping', 'pong', 'complete', 'next', 'error', 'x', '__proto__']),
        }),
      () => JSON.stringify({ type: dice.pick(['ping', 'pong']), payload: dice.json() }),
      () => JSON.stringify(dice.json()) ?? '',
      () => dice.pick(HOSTILE_JSON),
      () => dice.text(),
      () => `{"type":"ping","type":"subscribe","id":"d","payload":{"query":"{ __typename }"}}`,
      () =>
        `{"id":"n","type":"subscribe","payload":{"query":"{ __typename }","variables":{"a":${nested(dice.pick([50, 4_000]))}}}}`,
      () =>
        `{"id":"n","type":"subscribe","payload":{"query":"{ __typename }","extensions":${nested(dice.pick([50, 4_000]))}}}`,
      () => JSON.stringify({ ...good, id: dice.text() }),
    ])();
    return this.#written(`message ${shown(text)}`, () => inPieces(Buffer.from(text), dice), dice, lane);
  }

  /** Returns an input that sends invalid WebSocket frames. */
  #odd(dice: Dice, lane: number): Input {
    const payload = Buffer.from(dice.chance(0.5) ? '{"type":"ping"}' : dice.text());
    const [what, bytes] = dice.pick<() => [string, Buffer]>([
      () => odd('an unknown opcode', payload, { opcode: dice.pick([3, 4, 5, 6, 7, 11, 15]) }),
      () => odd('no mask', payload, { isMasked: false }),
      () => odd('reserved bits', payload, { reserved: dice.int(1, 8) }),
      () => odd('a length beyond all bounds', payload, { claimedLength: 2n ** 63n - 1n, lengthBytes: 8 }),
      () => odd('a length with its highest bit', payload, { claimedLength: 2n ** 64n - 1n, lengthBytes: 8 }),
      () => odd('a length over the limit', payload, { claimedLength: 300_000n, lengthBytes: 8 }),
      () => odd('a length in more bytes than needed', payload, { lengthBytes: 8 }),
      () => odd('a continuation of nothing', payload, { opcode: OPCODES.continuation }),
      () => odd('a long ping', Buffer.alloc(126), { opcode: OPCODES.ping }),
      () => odd('a ping in pieces', payload, { opcode: OPCODES.ping, isLast: false }),
      () => odd('text that is not UTF-8', Buffer.from([0xff, 0xfe, 0xc0, 0x80]), {}),
      () => odd('bytes', payload, { opcode: OPCODES.binary }),
      () => odd('a close of one byte', Buffer.from([3]), { opcode: OPCODES.close }),
      () =>
        odd('a close with an odd code', closing(dice.pick([0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535])), {
          opcode: OPCODES.close,
        }),
      () => odd('a usual close', closing(1000), { opcode: OPCODES.close }),
      () => ['random bytes', Buffer.from(Array.from({ length: dice.int(1, 64) }, () => dice.int(0, 256)))],
      () => ['half a frame', frame(payload).subarray(0, 3)],
      () => ['a text within a text', Buffer.concat([frame(payload, { isLast: false }), frame(payload)])],
      () => [
        'a message of 260,000 bytes',
        frame(Buffer.from(`{"type":"ping","payload":{"x":"${'x'.repeat(260_000)}"}}`)),
      ],
    ])();
    return this.#written(what, () => bytes, dice, lane, { endsLine: true });
  }

  /** Returns an input that sends unusual but valid WebSocket frames. */
  #harmless(dice: Dice, lane: number): Input {
    const [what, bytes] = dice.pick<() => [string, Buffer]>([
      () => odd('a ping', Buffer.from(dice.text()).subarray(0, 125), { opcode: OPCODES.ping }),
      () => odd('a pong nobody asked for', Buffer.from('x'), { opcode: OPCODES.pong }),
      () => [
        'many pings',
        Buffer.concat(Array.from({ length: 50 }, () => frame(Buffer.from('x'), { opcode: OPCODES.ping }))),
      ],
      () => ['one byte a frame', byBytes('{"type":"ping"}')],
      () => [
        'empty pieces',
        Buffer.concat([
          frame(Buffer.from('{"type":'), { isLast: false }),
          ...Array.from({ length: 100 }, () => frame(Buffer.alloc(0), { opcode: 0, isLast: false })),
          frame(Buffer.from('"ping"}'), { opcode: 0 }),
        ]),
      ],
      () => [
        'a ping between pieces',
        Buffer.concat([
          frame(Buffer.from('{"type":'), { isLast: false }),
          frame(Buffer.from('x'), { opcode: OPCODES.ping }),
          frame(Buffer.from('"ping"}'), { opcode: 0 }),
        ]),
      ],
      () => ['the end of what never began', frame(Buffer.from(JSON.stringify({ type: 'complete', id: dice.text() })))],
    ])();
    return this.#written(what, () => bytes, dice, lane);
  }

  #written(what: string, bytes: () => Buffer, dice: Dice, lane: number, { endsLine = false } = {}): Input {
    return {
      what,
      send: async () => {
        const line = await this.#line(lane, dice);
        line.write(bytes());
        await sleep(SETTLE_MS);
        const verdict = ended(line, 'taken');
        // Ends the connection after an incomplete frame, because the server would read the next frame as its remaining bytes.
        if (endsLine) line.end();
        return verdict;
      },
    };
  }
}

function ended(line: Line, otherwise: string): Verdict {
  const { ending } = line;
  if (ending === undefined) {
    const faults = otherwise === 'no answer' ? ['no answer'] : [];
    return { label: otherwise, isSuccess: false, faults };
  }
  const faults = FAULTS_OF_SERVER.has(ending.code) ? [`closed with ${ending.code} ${ending.reason}`] : [];
  return { label: `closed ${ending.code}`, isSuccess: false, faults };
}

const odd = (what: string, payload: Buffer, options: FrameOptions): [string, Buffer] => [what, frame(payload, options)];

function closing(code: number): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return payload;
}

const byBytes = (text: string): Buffer =>
  Buffer.concat(
    [...text].map((char, i, all) =>
      frame(Buffer.from(char), { opcode: i === 0 ? 1 : 0, isLast: i === all.length - 1 }),
    ),
  );

/** Encodes a message in one WebSocket frame or, less often, in two. */
function inPieces(bytes: Buffer, dice: Dice): Buffer {
  if (dice.chance(0.85) || bytes.length < 2) return frame(bytes);
  const at = dice.int(1, bytes.length);
  return Buffer.concat([
    frame(bytes.subarray(0, at), { isLast: false }),
    frame(bytes.subarray(at), { opcode: OPCODES.continuation }),
  ]);
}
