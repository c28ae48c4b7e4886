import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  Kind,
  type OperationDefinitionNode,
  parse,
  visit,
} from 'graphql';
import type { RequestCtx } from '../../src/access/context.ts';
import { createDocuments } from '../../src/api/graphql/documents/documents.ts';
import { type Executor, executorOf } from '../../src/api/graphql/execution/executor.ts';
import { compilePlan, type ObjectPlan } from '../../src/api/graphql/execution/plans/compile.ts';
import { presentError } from '../../src/api/graphql/schema/errors.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import type { Visitor } from './person.ts';
import { authenticated, contextOf, type PopulatedDemo, startPopulatedDemo } from './populated-demo.ts';
import { type Known, randomQuery } from './random-queries.ts';

const schema = buildSchema();
const documents = createDocuments(schema);
export const executeByPlan = executorOf({ queryPlans: true });
export const executeGenerally = executorOf({ queryPlans: false });

type Values = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly document: DocumentNode;
  readonly variableValues?: Values | undefined;
}

/** The result of an operation, in the form in which two results are compared. */
export interface Shown {
  /** The result as JSON, with all keys in order, and without the content of errors. */
  readonly text: string;
  /** The errors as JSON: message, path, location and extensions. Sorted, because their order is not specified. */
  readonly errors: readonly string[];
  readonly data: ExecutionResult['data'];
}

/**
 * Executes an operation for each request, all of them at the same time.
 *
 * @returns The results in the order of the requests.
 */
export const executeForAll = (
  execute: Executor,
  operation: Operation,
  requests: readonly RequestCtx[],
): Promise<Shown[]> =>
  Promise.all(
    requests.map(async (request) =>
      shown(await execute({ schema, ...operation, contextValue: contextOf(request) }), request),
    ),
  );

/**
 * Returns a result without the errors below a value that another error made null: the GraphQL specification lets executors omit
 * these.
 */
export function shown(result: ExecutionResult, { app }: RequestCtx): Shown {
  const errors = (result.errors ?? []).map((error) => presentError(error, app.log));
  return {
    text: JSON.stringify({ ...result, ...(result.errors !== undefined && { errors: [] }) }),
    errors: errors
      .filter(({ path }) => !isGone(result.data, path))
      .map(({ message, path, locations, extensions }) => JSON.stringify({ message, path, locations, extensions }))
      .sort(),
    data: result.data,
  };
}

/** Returns whether a value that encloses the field of an error is null. */
function isGone(data: unknown, path: readonly (string | number)[] = []): boolean {
  let at = data;
  for (const key of path.slice(0, -1)) {
    if (at === null || at === undefined) return true;
    at = (at as Record<string | number, unknown>)[key];
  }
  return path.length > 1 && (at === null || at === undefined);
}

/** Returns the query plan of an operation. Undefined if only graphql-js can execute the operation. */
export function planOf({ document, variableValues = {} }: Operation): ObjectPlan | undefined {
  const operation = getOperationAST(document) as OperationDefinitionNode;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues);
  if (coerced === undefined || conditionsIn(document).some((name) => coerced[name] === null)) return undefined;
  const fragments = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  return compilePlan(schema, new Map(fragments.map((node) => [node.name.value, node])), operation, coerced);
}

/** Returns the names of the variables in `@skip` and `@include`. */
function conditionsIn(document: DocumentNode): string[] {
  const names: string[] = [];
  visit(document, {
    Directive({ arguments: given = [] }) {
      for (const { value } of given) if (value.kind === Kind.VARIABLE) names.push(value.name.value);
    },
  });
  return names;
}

/** Adds the fields of a plan that have a value in `data`, as "Type.field". */
export function addFieldsWithValues(plan: ObjectPlan, data: unknown, found: Set<string>): void {
  if (Array.isArray(data)) for (const item of data) addFieldsWithValues(plan, item, found);
  if (Array.isArray(data) || typeof data !== 'object' || data === null) return;
  for (const { key, field, isTypename, below } of plan.fields) {
    const value = (data as Values)[key];
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    if (!isTypename) found.add(`${plan.type.name}.${field.name}`);
    if (below !== undefined) addFieldsWithValues(below, value, found);
  }
}

/** Returns all fields that a plan can execute, as "Type.field": those of the types that no interface or union hides. */
export function plannedFields(): readonly string[] {
  const found = new Map<string, readonly string[]>();
  const add = (type: unknown): void => {
    if (!isObjectType(type) || found.has(type.name)) return;
    const fields = Object.values(type.getFields());
    const types = fields.map((field) => getNamedType(field.type));
    const isPlanned = (i: number) => isLeafType(types[i]) || isObjectType(types[i]);
    found.set(
      type.name,
      fields.filter((_, i) => isPlanned(i)).map(({ name }) => `${type.name}.${name}`),
    );
    types.forEach(add);
  };
  add(schema.getQueryType());
  return [...found.values()].flat();
}

/** A service whose queries are executed by both executors. */
export interface Comparison extends AsyncDisposable {
  readonly demo: PopulatedDemo;
  /** Eight viewers by their relation to the demo organization. */
  readonly viewers: Readonly<Record<string, Visitor>>;
  /** Values for the arguments of random queries. */
  readonly known: Known;
}

/** Starts a service with a populated demo organization. */
export async function startComparison(): Promise<Comparison> {
  const demo = await startPopulatedDemo();
  const { iris, aaron, mona, bela, gus, bot } = demo.people;
  return {
    demo,
    viewers: {
      ...{ owner: iris, administrator: aaron, moderator: mona, member: bela, guest: gus, bot },
      ...{ foreigner: demo.foreigner, anonymous: demo.anonymous },
    },
    known: await readKnown(demo),
    [Symbol.asyncDispose]: () => demo[Symbol.asyncDispose](),
  };
}

/** A difference between the executors. */
interface Difference {
  readonly seed: number;
  readonly viewer: string;
  readonly query: string;
  readonly variables: Values;
  readonly plan: Pick<Shown, 'text' | 'errors'>;
  readonly general: Pick<Shown, 'text' | 'errors'>;
}

/** The outcome of a comparison of random queries. The numbers show whether the queries can find differences. */
export interface Compared {
  /** The first differences. */
  readonly differences: readonly Difference[];
  /** Number of queries that a plan executed. */
  planned: number;
  /** Number of queries that were executed a second time with other values of their variables. */
  repeated: number;
  /** Number of queries with more than three different results, out of those of eight viewers. */
  varied: number;
  /** Number of queries for which a field failed, by the code of the error. */
  readonly codes: Map<string, number>;
  /** Fields that had a value in a query that a plan executed, as "Type.field". */
  readonly fields: Set<string>;
}

/** Number of differences after which a comparison ends. */
const MAX_DIFFERENCES = 5;
/** Maximum cost of a random query. More expensive ones contain many equal objects, and take most of the time. */
const MAX_COST = 800;
/** One in so many queries is executed a second time with other values of its variables. */
const REPEATED = 4;

/**
 * Executes random queries by both executors, as eight viewers at the same time, and compares their results.
 *
 * @param count Number of queries.
 */
export async function compareRandomQueries({ demo, viewers, known }: Comparison, count: number): Promise<Compared> {
  const names = Object.keys(viewers);
  const requests = await Promise.all(Object.values(viewers).map((visitor) => authenticated(demo, visitor)));
  const differences: Difference[] = [];
  const compared: Compared = { differences, planned: 0, repeated: 0, varied: 0, codes: new Map(), fields: new Set() };
  for (let seed = 1, drawn = 0; drawn < count && differences.length < MAX_DIFFERENCES; seed++) {
    const { query, variables } = randomQuery({ schema, ...known }, seed);
    const document = acceptedDocument(query, variables);
    if (document === undefined) continue;
    drawn++;
    const isRepeated = drawn % REPEATED === 0 && Object.keys(variables[1]).length > 0;
    for (const [turn, variableValues] of (isRepeated ? variables : variables.slice(0, 1)).entries()) {
      const operation = { document, variableValues };
      // The order alternates, so that neither executor always finds the data in caches of the database.
      const planFirst = drawn % 2 === 0 ? await executeForAll(executeByPlan, operation, requests) : undefined;
      const general = await executeForAll(executeGenerally, operation, requests);
      const planned = planFirst ?? (await executeForAll(executeByPlan, operation, requests));
      for (const [at, viewer] of names.entries()) {
        const [a, b] = [planned[at] as Shown, general[at] as Shown];
        if (a.text === b.text && String(a.errors) === String(b.errors)) continue;
        const [plan, other] = [a, b].map(({ text, errors }) => ({ text, errors })) as [Shown, Shown];
        differences.push({ seed, viewer, query, variables: variableValues, plan, general: other });
      }
      note(compared, operation, general, turn > 0);
    }
  }
  return compared;
}

/** Adds the results of a query to the numbers of a comparison. */
function note(compared: Compared, operation: Operation, results: readonly Shown[], isRepeated: boolean): void {
  const { codes, fields } = compared;
  const failed = new Set(results.flatMap(({ errors }) => errors.map((error) => JSON.parse(error).extensions.code)));
  for (const code of failed) codes.set(code, (codes.get(code) ?? 0) + 1);
  const plan = planOf(operation);
  if (plan !== undefined) for (const { data } of results) addFieldsWithValues(plan, data, fields);
  if (isRepeated) {
    compared.repeated++;
    return;
  }
  if (plan !== undefined) compared.planned++;
  if (new Set(results.map(({ text }) => text)).size > 3) compared.varied++;
}

/**
 * Returns the document of a query. Undefined if the query exceeds a limit.
 *
 * @throws {Error} If the query is invalid, which is a fault of its maker.
 */
function acceptedDocument(query: string, variables: readonly Values[]): DocumentNode | undefined {
  const { document, errors } = documents.check(query);
  const fault = errors?.find(({ extensions }) => extensions['code'] !== 'DOCUMENT_LIMIT_EXCEEDED');
  if (fault !== undefined) throw new Error(`The query is invalid: ${fault.message}\n${query}`);
  if (document === undefined) return undefined;
  return variables.every((values) => costOf(document, values) <= MAX_COST) ? document : undefined;
}

function costOf(document: DocumentNode, variables: Values): number {
  try {
    return documents.cost(document, null, variables).requested;
  } catch {
    return Infinity;
  }
}

/** Reads the ids and cursors of objects that a user of the demo or the other organization can see. */
async function readKnown(demo: PopulatedDemo): Promise<Known> {
  const ids = new Map<string, Set<string>>();
  const cursors = new Map<string, Set<string>>();
  const add = (to: Map<string, Set<string>>, type: unknown, value: unknown) => {
    if (typeof type !== 'string' || typeof value !== 'string') return;
    to.set(type, (to.get(type) ?? new Set()).add(value));
  };
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { __typename: type, id, pageInfo, ...others } = value as Values;
    add(ids, type, id);
    const { startCursor, endCursor } = (pageInfo ?? {}) as Values;
    for (const cursor of [startCursor, endCursor]) add(cursors, type, cursor);
    for (const inner of Object.values(others)) collect(inner);
  };
  const { people, foreigner } = demo;
  for (const visitor of [people.iris, people.dana, foreigner]) {
    const request = await authenticated(demo, visitor);
    for (const field of Object.values((schema.getQueryType() as GraphQLObjectType).getFields())) {
      if (field.args.some(isRequiredArgument) || isLeafType(getNamedType(field.type))) continue;
      const document = parse(`{ ${field.name} ${selectionOfIds(field.type, 2)} }`);
      collect((await executeGenerally({ schema, document, contextValue: contextOf(request) })).data);
    }
  }
  const sorted = (found: Map<string, Set<string>>) => new Map([...found].map(([type, all]) => [type, [...all].sort()]));
  return {
    ids: sorted(ids),
    cursors: sorted(cursors),
    texts: {
      email: Object.values(people).map(({ email }) => email),
      'ChannelRef.name': ['general', 'GENERAL', 'website', 'leads', 'secret', 'later', 'boat fair 2025'],
      name: ['summer party', 'launch', 'plan 0', 'plan 1', 'build', ''],
      topicNamed: ['summer party', 'launch', 'PLAN 0'],
      content: ['**bold**', '@**Iris Haddad** :boat:', '```ts\n1\n```'],
    },
  };
}

/** Returns a selection of the ids and cursors of all objects below a type. */
function selectionOfIds(output: GraphQLOutputType, depth: number): string {
  const type = getNamedType(output);
  if (!isObjectType(type)) return '{ __typename }';
  const isConnection = type.name.endsWith('Connection');
  const texts = Object.values(type.getFields()).flatMap((field) => {
    if (field.args.some(isRequiredArgument) || field.name === 'edges') return [];
    if (isLeafType(getNamedType(field.type))) {
      return /^(id|startCursor|endCursor)$/.test(field.name) ? [field.name] : [];
    }
    if (depth === 0 && !isConnection) return [];
    const page = field.args.some(({ name }) => name === 'first') ? '(first: 4)' : '';
    return [`${field.name}${page} ${selectionOfIds(field.type, isConnection ? depth : depth - 1)}`];
  });
  return `{ __typename ${texts.join(' ')} }`;
}
