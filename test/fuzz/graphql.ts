import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, type DocumentNode, type GraphQLScalarType, type GraphQLSchema, parse, validate } from 'graphql';
import type { Person } from '../helpers/person.ts';
import type { Battery, Input, Kind, Verdict } from './campaign.ts';
import type { Dice } from './dice.ts';
import { INSIDE, shown, timed } from './http.ts';
import { isDelicate, type Operation, OperationMaker } from './operations.ts';
import { problemOfData } from './replies.ts';
import type { Cast } from './stage.ts';
import { nested } from './texts.ts';

/** Reads the published schema, and adds functions that validate the values of its custom scalars. */
export function readSchema(): GraphQLSchema {
  const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8'));
  const accepted: Readonly<Record<string, (value: unknown) => boolean>> = {
    DateTime: (value) => typeof value === 'string' && /^-?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value),
    LongId: Number.isSafeInteger,
  };
  for (const [name, accepts] of Object.entries(accepted)) {
    const scalar = schema.getType(name) as GraphQLScalarType;
    scalar.parseValue = (value) => {
      if (!accepts(value)) throw new TypeError(`${shown(value)} is no ${name}`);
      return value;
    };
  }
  return schema;
}

export function graphqlKind(): Kind {
  const schema = readSchema();
  return {
    name: 'GraphQL, from the schema',
    lanes: 8,
    batch: 500,
    open: (cast) => new GraphQLBattery(schema, cast),
  };
}

class GraphQLBattery implements Battery {
  readonly #schema: GraphQLSchema;
  readonly #cast: Cast;
  readonly #maker: OperationMaker;
  readonly #queues: (readonly [Person, string])[] = [];

  constructor(schema: GraphQLSchema, cast: Cast) {
    this.#schema = schema;
    this.#cast = cast;
    this.#maker = new OperationMaker(schema, cast);
  }

  next(dice: Dice): Input {
    const made = this.#maker.make(dice);
    const operation =
      dice.chance(0.15) && !isDelicate(made.fields) ? { ...made, query: garbled(made.query, dice) } : made;
    const sender = made.byVictim ? dice.pick(this.#cast.victims.slice(1)) : this.#sender(dice);
    const what = `${sender.name} ${shown(operation.query.replaceAll(/\s+/g, ' '), 400)} ${shown(operation.variables, 300)}`;
    return { what, send: () => this.#send(operation, sender, dice) };
  }

  async close(): Promise<void> {
    for (const [person, queue] of this.#queues) await person.rest('DELETE', '/events', { queue_id: queue });
  }

  #sender(dice: Dice): Person {
    return dice.chance(0.65) ? this.#cast.scene.owner : dice.pick(this.#cast.actors);
  }

  async #send({ query, variables, fields }: Operation, sender: Person, dice: Dice): Promise<Verdict> {
    const extensions = dice.chance(0.05) ? { idempotencyKey: `key ${dice.int(0, 10_000)}` } : undefined;
    const { reply, milliseconds, error } = await timed(sender.url, {
      ...{ method: 'POST', path: '/graphql', body: JSON.stringify({ query, variables, extensions }) },
      headers: {
        ...sender.headers,
        'content-type': 'application/json',
        accept: 'application/graphql-response+json',
      },
    });
    if (reply === undefined) return { label: 'none', isSuccess: false, milliseconds, faults: [`no answer: ${error}`] };
    const judged = judge(this.#schema, query, variables, reply.text);
    const faults = [...judged.faults];
    if (reply.status >= 500) faults.push(`status ${reply.status}`);
    for (const queue of judged.queues) this.#queues.push([sender, queue]);
    return {
      ...judged,
      label: `${reply.status} ${judged.label}`,
      milliseconds,
      faults: faults.map((fault) => `${fault} (${fields})`),
    };
  }
}

interface Judged {
  readonly label: string;
  readonly isSuccess: boolean;
  readonly faults: readonly string[];
  /** Ids of event queues that the operation created. */
  readonly queues: readonly string[];
}

const CODE = /^[A-Z_]+$/;

/** Checks a GraphQL result, whatever its transport, against the schema. @returns The verdict about the input. */
export function judge(schema: GraphQLSchema, query: string, variables: Operation['variables'], text: string): Judged {
  let result: {
    data?: Record<string, { __typename?: string; code?: string; queueId?: string } | null> | null;
    errors?: { message?: unknown; extensions?: { code?: unknown } }[];
  };
  try {
    result = JSON.parse(text);
  } catch {
    return { label: 'no JSON', isSuccess: false, faults: ['the reply is no JSON'], queues: [] };
  }
  const { data, errors } = result;
  const faults: string[] = [];
  const codes = (errors ?? []).map(({ extensions }) => String(extensions?.code));
  for (const { message, extensions } of errors ?? []) {
    if (typeof message !== 'string' || message === '') faults.push('an error says nothing');
    if (!CODE.test(String(extensions?.code))) faults.push(`an error has no code: ${shown(message)}`);
    if (extensions?.code === 'INTERNAL_SERVER_ERROR') faults.push('an internal error');
  }
  if (data == null && codes.length === 0) faults.push('neither data nor errors');
  if (codes.length > 0 && INSIDE.test(JSON.stringify(errors))) faults.push(`shows its inside: ${shown(errors)}`);
  const document = data == null ? undefined : parsedOrNot(schema, query);
  if (data != null && document !== undefined) {
    const problem = problemOfData({ schema, document, variables }, data);
    if (problem !== undefined) faults.push(problem);
  }
  const told = Object.values(data ?? {}).flatMap((value) =>
    typeof value?.code === 'string' && value.__typename?.endsWith('Error') ? [value.code] : [],
  );
  const all = [...codes, ...told];
  const queues = Object.values(data ?? {}).flatMap((value) =>
    value?.__typename === 'RegisterEventQueuePayload' && typeof value.queueId === 'string' ? [value.queueId] : [],
  );
  return { label: all.length === 0 ? 'done' : (all[0] as string), isSuccess: all.length === 0, faults, queues };
}

/**
 * Parses and validates a document. @returns Undefined if the document is invalid. The caller checks separately that an invalid
 * document gets no data.
 */
function parsedOrNot(schema: GraphQLSchema, query: string): DocumentNode | undefined {
  try {
    const document = parse(query);
    return validate(schema, document).length === 0 ? document : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the document with one random error in its text. */
export function garbled(query: string, dice: Dice): string {
  const at = dice.int(0, query.length);
  const brackets = nested(dice.pick([10, 100, 1_000]));
  return dice.pick([
    () => query.slice(0, at),
    () => query.slice(0, at) + query.slice(at + dice.int(1, 20)),
    () => query.slice(0, at) + dice.text() + query.slice(at),
    () => query.slice(0, at) + dice.pick([...'{}()[]$@:!|&"#.,\\']) + query.slice(at),
    () => query.replace(/\d+/, brackets),
    () => `${query} ${query}`,
    () => query.replace('{', `{ ${Array.from({ length: dice.int(1, 80) }, (_, i) => `x${i}: __typename`).join(' ')} `),
    () => query.replace('{', `{ ...Loop `).concat(' fragment Loop on Query { ...Loop }'),
    () => query.replace(/__typename/, '__schema { types { name fields { name } } }'),
    () => `${query}${' '.repeat(dice.int(0, 100_000))}`,
    () => `"${'x'.repeat(dice.int(0, 5_000))}" ${query}`,
  ])();
}
