import type { Client } from 'urql';
import { createStore } from '../api/store.ts';
import { EmojiDataDocument, type EmojiDataQuery, type ReactionType } from '../generated/graphql.ts';
import { glyphOf } from '../ui/person.tsx';

/** An emoji that messages and reactions can have. */
export interface Emoji {
  /** What it is called, first; what else finds it. */
  readonly names: readonly [string, ...string[]];
  /** Its identifier within the namespace of its type. */
  readonly code: string;
  readonly type: ReactionType;
  /** How it looks: characters, or an image's address. */
  readonly glyph: string | undefined;
  readonly imageUrl: string | undefined;
  /** Whether it may be used anew. */
  readonly isActive: boolean;
}

/** All there are, the organization's own first; empty until `loadEmoji` has read them. */
export const emojiTable = createStore<readonly Emoji[]>([]);

let loading: Promise<void> | undefined;

/** Reads them, once. What fails is tried again when they are next wanted. */
export function loadEmoji(client: Client): Promise<void> {
  loading ??= read(client).catch(() => {
    loading = undefined;
  });
  return loading;
}

/** Has them read again when they are next wanted: the organization's own are others. */
export function forgetEmoji(): void {
  loading = undefined;
}

async function read(client: Client): Promise<void> {
  const { url, own } = await readOwn(client);
  const { code_to_names: table } = (await (await fetch(url)).json()) as {
    readonly code_to_names: { readonly [code: string]: [string, ...string[]] };
  };
  const known = Object.entries(table).map(([code, names]): Emoji => {
    return { names, code, type: 'UNICODE_EMOJI', glyph: glyphOf(code), imageUrl: undefined, isActive: true };
  });
  emojiTable.set([...own, ...known.filter(({ glyph }) => glyph !== undefined)]);
}

async function readOwn(
  client: Client,
  after: string | null = null,
): Promise<{ readonly url: string; readonly own: readonly Emoji[] }> {
  const { data, error } = await client
    .query(EmojiDataDocument, { after }, { requestPolicy: 'network-only' })
    .toPromise();
  if (data?.serverSettings === undefined) throw error ?? new Error('No answer');
  const own = (data.customEmoji?.nodes ?? []).map(ownEmoji);
  const url = data.serverSettings.emojiDataUrl;
  const { pageInfo } = data.customEmoji ?? {};
  if (pageInfo?.hasNextPage !== true) return { url, own };
  return { url, own: [...own, ...(await readOwn(client, pageInfo.endCursor)).own] };
}

type OwnEmoji = NonNullable<EmojiDataQuery['customEmoji']>['nodes'][number];

const ownEmoji = ({ databaseId, name, imageUrl, isActive }: OwnEmoji): Emoji => ({
  names: [name],
  code: String(databaseId),
  type: 'REALM_EMOJI',
  glyph: undefined,
  imageUrl,
  isActive,
});

/** Those whose names have the text in them: those that are called so, then those that begin so, then the rest. */
export function findEmoji(all: readonly Emoji[], text: string): readonly Emoji[] {
  const wanted = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s:]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  const usable = all.filter(({ isActive }) => isActive);
  if (wanted === '') return usable;
  const rank = ({ names }: Emoji) => {
    if (names.includes(wanted)) return 0;
    if (names.some((name) => name.startsWith(wanted))) return 1;
    return names.some((name) => name.includes(wanted)) ? 2 : 3;
  };
  return usable
    .map((emoji) => ({ emoji, rank: rank(emoji) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .map(({ emoji }) => emoji);
}

const KEY = 'emoji used';
const KEPT = 16;
const FIRST_CHOICE = ['thumbs_up', 'heart', 'tada', 'joy', 'check', 'eyes', 'pray', 'rocket'];

/** Those this browser used last, and some that most people use. */
export function oftenUsed(all: readonly Emoji[]): readonly Emoji[] {
  const names = new Set([...used(), ...FIRST_CHOICE]);
  return [...names]
    .flatMap((name) => all.find((emoji) => emoji.isActive && emoji.names[0] === name) ?? [])
    .slice(0, KEPT);
}

/** Remembers that somebody used it. */
export function noteUse({ names: [name] }: Emoji): void {
  localStorage.setItem(KEY, JSON.stringify([name, ...used().filter((one) => one !== name)].slice(0, KEPT)));
}

function used(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(names) ? names.map(String) : [];
  } catch {
    return [];
  }
}
