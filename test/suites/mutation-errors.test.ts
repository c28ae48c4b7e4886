import { type GraphQLInputType, getNamedType, getNullableType, isInputObjectType, isListType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { globalId, withGlobalIds } from '../helpers/global-ids.ts';
import { fieldOf, GRAPHQL_CALLS, type GraphQLCall } from '../helpers/graphql-calls.ts';
import type { Json } from '../helpers/http.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';

// Tests the errors of mutations: their types, their paths, and the words of their messages. The wrong inputs are generated: in
// each input of `GRAPHQL_CALLS`, one value after the other is replaced by wrong values of its type. The forbidden calls are
// those inputs, sent by a guest and by a member.

const schema = buildSchema();

/** A path in the arguments of a mutation. Indexes of lists are digits. */
type Path = readonly string[];

/** A wrong value, with the types of the errors that it can cause. */
interface Wrong {
  readonly what: string;
  readonly value: unknown;
  readonly errors: readonly string[];
  /** Whether the mutation must fail. If false, it may accept the value. */
  readonly mustFail: boolean;
}

const INVALID = ['ValidationError'];
const UNKNOWN = ['NotFoundError', 'BadNarrowError'];

/** A row id that no row has. */
const NO_ROW = 2_000_000_000;

/** Wrong texts and numbers. Some fields accept a blank text or a negative number. */
const WRONG: Readonly<Record<string, readonly Wrong[]>> = {
  String: [
    { what: 'an empty text', value: '', errors: [...INVALID, ...UNKNOWN], mustFail: false },
    { what: 'a blank text', value: '  \n ', errors: [...INVALID, ...UNKNOWN], mustFail: false },
    { what: 'a null byte', value: 'a\0b', errors: [...INVALID, ...UNKNOWN], mustFail: true },
    { what: 'a long text', value: 'x'.repeat(200_000), errors: [...INVALID, ...UNKNOWN], mustFail: true },
  ],
  Int: [
    { what: 'a negative number', value: -7, errors: INVALID, mustFail: false },
    { what: 'zero', value: 0, errors: INVALID, mustFail: false },
    { what: 'the largest number', value: 2_147_483_647, errors: INVALID, mustFail: false },
  ],
};

/** Wrong values for an argument that takes a global id. */
const wrongIds = (id: string): readonly Wrong[] => {
  const [type = ''] = Buffer.from(id, 'base64').toString().split(':');
  return [
    { what: 'a nonexistent id', value: globalId(type, NO_ROW), errors: UNKNOWN, mustFail: true },
    { what: 'a malformed id', value: 'not an id', errors: UNKNOWN, mustFail: true },
  ];
};

/** Number of items of a long list: more than any input accepts. */
const MANY = 10_000;

/** Returns the paths of all values in an input, with their types. */
function valuesIn(type: GraphQLInputType, value: unknown, path: Path): { path: Path; type: GraphQLInputType }[] {
  const inner = getNullableType(type);
  if (value === null || value === undefined) return [];
  if (Array.isArray(value) && isListType(inner)) {
    return [{ path, type }, ...value.flatMap((item, i) => valuesIn(inner.ofType, item, [...path, String(i)]))];
  }
  if (isInputObjectType(inner)) {
    const fields = inner.getFields();
    return Object.entries(value).flatMap(([name, part]) => {
      const field = fields[name];
      return field === undefined ? [] : valuesIn(field.type, part, [...path, name]);
    });
  }
  return [{ path, type }];
}

function valueAt(holder: unknown, path: Path): unknown {
  return path.reduce((value: Json, step) => value[step], holder);
}

const isPlain = (value: unknown): value is Parameters =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Returns a copy of a value of an input with another value at the path. */
function replaced(holder: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  if (Array.isArray(holder)) return holder.with(Number(step), replaced(holder[Number(step)], rest, value));
  if (!isPlain(holder)) throw new Error(`There is no ${step}`);
  return { ...holder, [step]: replaced(holder[step], rest, value) };
}

function wrongValues(type: GraphQLInputType, value: unknown): readonly Wrong[] {
  if (isListType(getNullableType(type))) {
    const [first] = value as readonly unknown[];
    if (first === undefined) return [];
    const many = Array.from({ length: MANY }, () => first);
    return [{ what: 'a long list', value: many, errors: INVALID, mustFail: false }];
  }
  const { name } = getNamedType(type);
  return name === 'ID' ? wrongIds(String(value)) : (WRONG[name] ?? []);
}

/**
 * Matches words of the REST interface, names of its parameters and row ids, which messages for GraphQL clients must not
 * contain.
 */
const REST_WORDS = /\b(stream|streams|realm|pm|dict)\b|[a-z]+_[a-z]+|\["|2000000000|\bID '?\d/i;

/** Mutations whose result for a kind of wrong input differs from that of all other mutations. */
interface Exception {
  readonly mutations: readonly string[];
  /** Pattern of the path, without list indexes and `input`, and of the wrong value: `to.topic.name a long text`. */
  readonly at: RegExp;
  /** Accepted types of the result. `Payload`: the mutation succeeds. */
  readonly results: readonly string[];
  readonly reason: string;
}

const EXCEPTIONS: readonly Exception[] = [
  {
    mutations: [
      'sendMessage',
      'scheduleMessage',
      'updateScheduledMessage',
      'createDrafts',
      'updateDraft',
      'editMessage',
    ],
    at: /content a long text$/,
    results: ['Payload'],
    reason: 'Contents of messages are cut at the maximum length, as the descriptions say.',
  },
  {
    mutations: ['sendMessage', 'scheduleMessage', 'updateScheduledMessage', 'createDrafts', 'updateDraft', 'setTyping'],
    at: /to\.topic\.named\.name a long text$/,
    results: ['Payload'],
    reason: 'Names of topics are cut at the maximum length, as the descriptions say.',
  },
  {
    mutations: ['moveMessages'],
    at: /^to\.named\.name (a long text|a blank text)$/,
    results: ['Payload', 'ValidationError'],
    reason: 'The name of a topic is cut. A blank name can be the current one, so that nothing changes.',
  },
  {
    mutations: ['fetchApiKeyByJwt', 'completeVideoCallRegistration'],
    at: /^/,
    results: ['ConflictError'],
    reason: 'The external service is not configured.',
  },
  {
    mutations: ['configurePushDevice', 'sendTestNotification'],
    at: /^/,
    results: ['PushServiceNotConfiguredError'],
    reason: 'The push services of phones are not configured.',
  },
  {
    mutations: ['inviteUsers'],
    at: /^emails /,
    results: ['InvitationFailedError', 'ValidationError'],
    reason: 'The error lists all addresses that are refused.',
  },
  {
    mutations: ['acceptInvitation'],
    at: /^(fullName|password) /,
    results: ['ConflictError'],
    reason: 'The link of the call requires a confirmed address.',
  },
  {
    mutations: ['requestSignUp'],
    at: /^email /,
    results: ['ConflictError'],
    reason: 'The organization requires invitations.',
  },
  {
    mutations: ['requestOrganization'],
    at: /^(name|subdomain|email) /,
    results: ['ForbiddenError'],
    reason: 'The operator does not permit it.',
  },
  {
    mutations: ['completeSignUp'],
    at: /^(fullName|password) /,
    results: ['NotFoundError'],
    reason: 'The link of the call does not exist.',
  },
  {
    mutations: ['resetPassword'],
    at: /^newPassword /,
    results: ['NotFoundError'],
    reason: 'The link of the call does not exist.',
  },
  {
    mutations: ['deleteIdentityProvider'],
    at: /^currentPassword /,
    results: ['NotFoundError'],
    reason: 'An earlier attempt deleted the provider: with an API key, the password is not looked at.',
  },
  {
    mutations: ['unlinkIdentity'],
    at: /^currentPassword /,
    results: ['NotFoundError'],
    reason: 'The callers have no identities. With an API key, the password is not looked at.',
  },
  {
    mutations: ['signIn', 'fetchApiKey'],
    at: /^(username|password) /,
    results: ['AuthenticationFailedError', 'RateLimitHitError'],
    reason: 'The error does not say whether the address or the password is wrong.',
  },
  {
    mutations: ['removePasskey'],
    at: /^(code|passkey|currentPassword) /,
    results: ['NotFoundError'],
    reason: 'The callers have no passkey, and the proof is checked after the passkey was found.',
  },
  {
    mutations: ['acknowledgeEvents', 'deleteEventQueue'],
    at: /^queueId /,
    results: ['BadEventQueueIdError'],
    reason: 'Clients handle the error for lost queues: they register a new queue.',
  },
  {
    mutations: ['updateMessageFlagsInNarrow'],
    at: /^narrow\.(with|channel\.id) a (nonexistent|malformed) id$/,
    results: ['Payload'],
    reason:
      'The location of the message in `with` replaces `channel`. If there is no message, `channel` and `topic` remain.',
  },
];

/** Mutations whose forbidden calls are answered in another way: with the type of the error, and the reason. */
const FORBIDDEN: Readonly<Record<string, readonly [type: string, reason: string]>> = {
  acknowledgeEvents: [
    'BadEventQueueIdError',
    'Clients handle the error for lost queues, and a foreign queue is hidden.',
  ],
  deleteEventQueue: [
    'BadEventQueueIdError',
    'Clients handle the error for lost queues, and a foreign queue is hidden.',
  ],
  updateMessageFlagsInNarrow: ['BadNarrowError', 'The narrow names a hidden channel.'],
  editMessage: ['ForbiddenError', 'Only the sender can edit the content of a message.'],
  setEditTyping: ['ForbiddenError', 'Only the sender can edit the content of a message.'],
  updateSubscriptionSettings: ['ConflictError', 'A viewer changes only own subscriptions, and can subscribe first.'],
  updateSettings: ['ValidationError', 'The password of the call is not that of the viewer.'],
  signOut: ['ConflictError', 'The callers have no session.'],
  continueInApp: ['ConflictError', 'The callers have no session.'],
  beginSecondFactorAtSignIn: ['ConflictError', 'The challenge of the call does not exist.'],
  completeSignIn: ['ConflictError', 'The challenge of the call does not exist.'],
  beginPasskeyAtSignIn: ['ConflictError', 'The challenge of the call does not exist.'],
  beginPasskeyProof: ['ConflictError', 'The callers have no passkey.'],
  beginPasskey: ['ConflictError', 'The callers have no second factor.'],
  beginSecondFactor: ['ConflictError', 'The callers have no second factor.'],
  addPasskey: ['ValidationError', 'No browser created the passkey of the call.'],
  completePasskeySignIn: ['ValidationError', 'No browser used the passkey of the call.'],
  renamePasskey: ['NotFoundError', 'The callers have no passkey.'],
  removePasskey: ['NotFoundError', 'The callers have no passkey.'],
  confirmSecondFactor: ['ConflictError', 'The callers have not begun to add an authenticator app.'],
  replaceRecoveryCodes: ['ConflictError', 'The callers have no second factor.'],
  removeSecondFactor: ['ConflictError', 'The callers have no authenticator app.'],
  unlinkIdentity: ['ConflictError', 'The callers have a password.'],
  acceptInvitation: ['ConflictError', 'The link of the call requires a confirmed address.'],
  requestSignUp: ['ConflictError', 'The organization requires invitations.'],
  requestOrganization: ['ForbiddenError', 'The operator does not permit it.'],
  completeSignUp: ['NotFoundError', 'The link of the call does not exist.'],
  resetPassword: ['NotFoundError', 'The link of the call does not exist.'],
  fetchApiKeyByJwt: ['ConflictError', 'The external service is not configured.'],
  createVideoCall: ['ConflictError', 'The external service is not configured.'],
  completeVideoCallRegistration: ['ConflictError', 'The external service is not configured.'],
  configurePushDevice: ['PushServiceNotConfiguredError', 'The push services of phones are not configured.'],
  sendTestNotification: ['PushServiceNotConfiguredError', 'The push services of phones are not configured.'],
};

let scene: Scene;
beforeAll(async () => {
  scene = await makeScene();
});

const mutations = Object.entries(GRAPHQL_CALLS).flatMap(([name, make]) =>
  name.startsWith('Mutation.') ? [[name.slice('Mutation.'.length), make] as const] : [],
);

/** Runs a mutation and selects all fields of its error. */
async function resultOf(who: Person, call: GraphQLCall, args: unknown): Promise<Json> {
  const [argument] = fieldOf(schema, call).args;
  const input = argument === undefined ? ['', ''] : [`($input: ${argument.type})`, '(input: $input)'];
  const document = `mutation ${input[0]} { ${call.field}${input[1]} {
    __typename ... on ServiceError { code message path } ... on ValidationError { minimum maximum value }
    ... on NotFoundError { objectType } ... on ForbiddenError { permission role } } }`;
  const { data, errors } = await who.graphql(document, args as Parameters);
  return data?.[call.field] ?? { __typename: 'top-level error', message: errors?.[0]?.message, errors };
}

/** A wrong value, and the path of the argument in a call that receives it. */
interface Attempt extends Wrong {
  readonly path: Path;
  /** The path without `input` and without list indexes, and the wrong value: `to.topic.name a long text`. */
  readonly title: string;
}

/** Returns the wrong inputs for a call. Those that the mutation may accept come last. */
function attemptsFor(call: GraphQLCall): readonly Attempt[] {
  const args = withGlobalIds(call.args);
  const attempts = fieldOf(schema, call).args.flatMap(({ name, type }) =>
    valuesIn(type, args[name], [name]).flatMap(({ path, type: inner }) =>
      wrongValues(inner, valueAt(args, path)).map((wrong) => {
        const steps = path.filter((step) => step !== 'input' && !/^\d+$/.test(step));
        return { ...wrong, path, title: `${steps.join('.')} ${wrong.what}` };
      }),
    ),
  );
  return [...attempts.filter(({ mustFail }) => mustFail), ...attempts.filter(({ mustFail }) => !mustFail)];
}

/** Results that say that the value is valid, but that the mutation cannot be executed in the current state. */
const ABOUT_STATE = ['ConflictError', 'ExpectationMismatchError'];

/** Returns what is wrong with the result of an attempt. Undefined if nothing is. */
function faultIn({ __typename: kind, message, path: shown }: Json, { errors, mustFail, path, what }: Attempt) {
  if (kind.endsWith('Payload')) return mustFail ? 'accepted' : undefined;
  const place = path.join('.');
  // The expected current value of a field can be any value.
  const isExpectation = kind === 'ExpectationMismatchError' && /\.(old|prev)/.test(place);
  if (!mustFail && ABOUT_STATE.includes(kind)) return undefined;
  if (!errors.includes(kind) && !isExpectation) return `${kind} ${message}`;
  if (REST_WORDS.test(String(message))) return `words: ${message}`;
  const given = `${shown?.join('.')}`;
  // For a repeated item of a list, the path of the item is shown. For an expected value, the path of the whole value.
  const isNear =
    (what === 'a long list' && given.startsWith(`${place}.`)) || (isExpectation && place.startsWith(given));
  return given === place || isNear ? undefined : `path ${given}: ${message}`;
}

/** Mutations with an organization of their own: the first needs a new message, the second counts failed passwords. */
const ALONE = new Set(['editMessage', 'updateSettings']);

describe('a wrong input causes an error of its kind, with its path, in the words of the schema', () => {
  test.for(mutations)('%s', async ([name, make]) => {
    const place = ALONE.has(name) ? await makeScene() : scene;
    const found: string[] = [];
    const tried = new Set<string>();
    const unused = new Set(EXCEPTIONS.filter((exception) => exception.mutations.includes(name)));
    // Calls are made anew for each attempt, because they can contain names that no object has yet.
    const callAt = (i: number) => make(place.names)[i] as GraphQLCall;
    const count = make(place.names).length;
    for (let i = 0; i < count; i++) {
      for (const attempt of attemptsFor(callAt(i))) {
        const { path, title, what, value } = attempt;
        if (tried.has(title)) continue;
        tried.add(title);
        const call = callAt(i);
        const args = replaced(withGlobalIds(call.args), path, value);
        const result = await resultOf(place[call.as ?? 'owner'], call, args);
        const fault = faultIn(result, attempt);
        if (fault === undefined) continue;
        const type = result['__typename'].endsWith('Payload') ? 'Payload' : result['__typename'];
        const exception = [...EXCEPTIONS].find(
          ({ mutations: names, at, results }) => names.includes(name) && at.test(title) && results.includes(type),
        );
        if (exception === undefined) found.push(`${name} ${path.join('.')}: ${what}: ${fault}`);
        else unused.delete(exception);
      }
      // The next call can depend on the state after this one.
      const call = callAt(i);
      if (i < count - 1) await resultOf(place[call.as ?? 'owner'], call, withGlobalIds(call.args));
    }
    for (const { at } of unused) found.push(`${name}: no result needs the exception ${at}`);
    expect(found, found.join('\n')).toEqual([]);
  });
});

describe('a forbidden call causes an error that names the missing permission or role, or hides the object', () => {
  let other: Scene;
  beforeAll(async () => {
    other = await makeScene();
  });

  test.for(mutations)('%s', async ([name, make]) => {
    const found: string[] = [];
    for (const role of ['guest', 'member'] as const) {
      const who = await other.signUp(`${role} for ${name}`, role);
      for (const call of make(other.names)) {
        const result = await resultOf(who, call, withGlobalIds(call.args));
        const { __typename: kind, message, permission, role: needed } = result;
        const isNamed = kind === 'ForbiddenError' && (permission !== null || needed !== null);
        if (kind.endsWith('Payload') || kind === 'NotFoundError' || isNamed) continue;
        if (FORBIDDEN[name]?.[0] === kind) continue;
        found.push(`${name} by a ${role}: ${kind} ${JSON.stringify(result['path'])} ${message}`);
      }
    }
    expect(found, found.join('\n')).toEqual([]);
  });
});
