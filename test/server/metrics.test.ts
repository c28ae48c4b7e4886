import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseErrorKind } from '../../src/platform/db/errors.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { Visitor } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests the content of /metrics for operators, and its format for Prometheus.

let service: InProcess;
let house: Organization;

beforeAll(async () => {
  service = await startInProcess();
  house = await createOrganization({}, { on: service });
});
afterAll(() => service[Symbol.asyncDispose]());

const readMetrics = async () => (await fetch(`${service.url}/metrics`)).text();

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Matches a sample in the Prometheus format. Prometheus is written in Go, which parses values such as "NaN" and "Inf" in any
 * case.
 */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[\d.e+-]+|nan|[+-]inf)$/i;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/y;

function labelsIn(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (LABEL.lastIndex = 0; end < text.length; end = LABEL.lastIndex) {
    const [, name = '', value = ''] = LABEL.exec(text) ?? [];
    if (name === '') throw new Error(`No labels: ${text}`);
    labels[name] = value;
  }
  return labels;
}

const samplesIn = (text: string): Sample[] =>
  text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return [];
    const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === '') throw new Error(`No sample: ${line}`);
    return [{ name, labels: labelsIn(labels), value: Number(value) }];
  });

/** Returns the sum of the samples of a metric that have these labels. */
async function count(name: string, wanted: Readonly<Record<string, string>>): Promise<number> {
  const samples = samplesIn(await readMetrics());
  const fits = ({ labels }: Sample) => Object.entries(wanted).every(([label, value]) => labels[label] === value);
  return samples.filter((sample) => sample.name === name && fits(sample)).reduce((sum, { value }) => sum + value, 0);
}

/** Runs `act`. @returns By how much the sum of a metric increases meanwhile. */
async function growth(name: string, labels: Readonly<Record<string, string>>, act: () => Promise<unknown>) {
  const before = await count(name, labels);
  await act();
  return (await count(name, labels)) - before;
}

const OPERATIONS = 'graphql_operation_duration_seconds_count';
const REFUSALS = 'requests_refused_total';
const DATABASE_ERRORS = 'database_errors_total';

test('database errors are counted by kind', async () => {
  const { db } = service.app;
  const divide = () => db.$queryRaw`SELECT 1 / 0`.catch(() => {});
  expect(await growth(DATABASE_ERRORS, { kind: 'value' }, divide)).toBe(1);
  const inTransaction = () => db.$transaction((tx) => tx.$queryRaw`SELECT * FROM nowhere`).catch(() => {});
  expect(await growth(DATABASE_ERRORS, { kind: 'statement' }, inTransaction)).toBe(1);
  const twice = () =>
    db.$executeRaw`INSERT INTO event_counter SELECT * FROM event_counter WHERE realm_id = ${house.organization.id}`.catch(
      () => {},
    );
  expect(await growth(DATABASE_ERRORS, { kind: 'constraint' }, twice)).toBe(1);
  const kinds = Object.entries({
    disk_full: { code: '53100' },
    resources: { code: '53200' },
    lost_race: { cause: { originalCode: '40P01' } },
    lock_timeout: { cause: { originalCode: '55P03' } },
    connection: { code: 'ECONNREFUSED' },
    other: { code: 'XX000' },
  });
  for (const [kind, error] of kinds) expect(databaseErrorKind(error)).toBe(kind);
  expect(databaseErrorKind(new Error('Connection terminated unexpectedly'))).toBe('connection');
});

test('GraphQL operations are counted by name', async () => {
  const { member } = house;
  const ask = (name: string) => () => member.graphql(`query ${name} { viewer { fullName } }`);
  expect(await growth(OPERATIONS, { operation: 'WhoAmI', type: 'query' }, ask('WhoAmI'))).toBe(1);
  expect(await growth(OPERATIONS, { operation: 'anonymous', type: 'query' }, ask(''))).toBe(1);
  const save = () =>
    member.graphql('mutation Save { createSavedSnippet(input: { title: "t", content: "c" }) { __typename } }');
  expect(await growth(OPERATIONS, { operation: 'Save', type: 'mutation' }, save)).toBe(1);
});

test('operations without credentials count without a name, and others under at most a hundred names', async () => {
  const { member } = house;
  const stranger = new Visitor({ url: member.url, host: member.host });
  const askAs = (who: Visitor, name: string) => () => who.graphql(`query ${name} { __typename }`);
  expect(await growth(OPERATIONS, { operation: 'other' }, askAs(stranger, 'OfAStranger'))).toBe(1);
  expect(await growth(OPERATIONS, { operation: 'other' }, askAs(member, 'N'.repeat(1_000)))).toBe(1);
  for (let i = 0; i < 120; i++) await askAs(member, `Name${i}`)();
  const samples = samplesIn(await readMetrics()).filter(({ name }) => name === OPERATIONS);
  const names = new Set(samples.map(({ labels }) => labels['operation']));
  names.delete('other');
  names.delete('anonymous');
  expect(names.size).toBe(100);
  expect(await growth(OPERATIONS, { operation: 'Name1' }, askAs(stranger, 'Name1'))).toBe(1);
});

test('refusals are counted once, by code', async () => {
  const { member } = house;
  const missing = { api: 'rest', code: 'REQUEST_VARIABLE_MISSING' };
  expect(await growth(REFUSALS, missing, () => member.rest('POST', '/saved_snippets', {}))).toBe(1);
  const send = `mutation ($channelId: ID!) {
    sendMessage(input: { to: { topic: { named: { channel: { id: $channelId }, name: "t" } } }, content: "c" }) { __typename }
  }`;
  const inUnion = () => member.graphql(send, { channelId: globalId('Channel', 2_000_000_000) });
  expect(await growth(REFUSALS, { api: 'graphql', code: 'STREAM_DOES_NOT_EXIST' }, inUnion)).toBe(1);
  expect(await growth(REFUSALS, { api: 'graphql' }, inUnion)).toBe(1);
  const bad = { api: 'graphql', code: 'BAD_REQUEST' };
  // Sends each document twice, because the second request finds it in the cache.
  for (const [document, code] of [
    ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['{', 'GRAPHQL_PARSE_FAILED'],
    [`{ ${Array.from({ length: 51 }, (_, i) => `a${i}: __typename`).join(' ')} }`, 'DOCUMENT_LIMIT_EXCEEDED'],
  ] as const) {
    const refused = () => member.graphql(document);
    for (let i = 0; i < 2; i++) expect(await growth(REFUSALS, { api: 'graphql', code }, refused), code).toBe(1);
    expect(await growth(REFUSALS, { api: 'graphql' }, refused), code).toBe(1);
  }
  const valued = () => member.graphql('query ($id: ID!) { node(id: $id) { id } }', { id: [] });
  expect(await growth(REFUSALS, bad, valued)).toBe(1);
  const stranger = new Visitor({ url: member.url, host: member.host });
  const asStranger = () => stranger.graphql('{ viewer { fullName } }');
  expect(await growth(REFUSALS, { api: 'graphql', code: 'UNAUTHORIZED' }, asStranger)).toBe(1);
  const wrong = new Visitor({ url: member.url, host: member.host, authorization: 'Basic bm9ib2R5OmtleQ==' });
  expect(await growth(REFUSALS, { api: 'graphql' }, () => wrong.graphql('{ __typename }'))).toBe(1);
  expect(await growth(REFUSALS, { api: 'rest' }, () => wrong.rest('GET', '/users/me'))).toBe(1);
});

test('the page follows its format: one name, help and type each, and names with suffix and unit', async () => {
  const { headers } = await fetch(`${service.url}/metrics`);
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await readMetrics();
  expect(text.endsWith('\n')).toBe(true);
  const types = new Map<string, string>();
  const helps = new Set<string>();
  for (const [, kind, name = '', said = ''] of text.matchAll(/^# (HELP|TYPE) (\S+) (.+)$/gm)) {
    if (kind === 'HELP') helps.add(name);
    else {
      expect(types.has(name), name).toBe(false);
      types.set(name, said);
    }
  }
  const seen = new Set<string>();
  for (const { name, labels, value } of samplesIn(text)) {
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    expect([types.has(family), helps.has(family)], name).toEqual([true, true]);
    const type = types.get(family);
    if (name !== family) expect(['histogram', 'summary'], name).toContain(type);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (type === 'counter' || type === 'histogram') expect(value, name).toBeGreaterThanOrEqual(0);
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb)(_|$)/);
    const series = name + JSON.stringify(labels);
    expect(seen.has(series), series).toBe(false);
    seen.add(series);
  }
});
